package guest

import (
	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Debug writes a line to the host's log. Never log a key, an address or a token.
func Debug(text string) { host.Log(abi.LevelDebug, text) }

// Info writes a line to the host's log.
func Info(text string) { host.Log(abi.LevelInfo, text) }

// Warn writes a line to the host's log.
func Warn(text string) { host.Log(abi.LevelWarn, text) }

// Error writes a line to the host's log.
func Error(text string) { host.Log(abi.LevelError, text) }
