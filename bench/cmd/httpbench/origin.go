package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp"
)

// The upstream is a process of its own, so that its processor time is not counted as any proxy's.

const originBody = `{"id":1,"item":"tea","note":"an answer of an ordinary size, a little over one hundred bytes in all"}` + "\n"

func serveOrigin(addr string) error {
	server := &fasthttp.Server{
		NoDefaultServerHeader: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.SetBodyString(originBody)
		},
	}
	return server.ListenAndServe(addr)
}

func startOrigin(dir string) (*process, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(filepath.Join(dir, "origin.log"), addr, self, "origin", addr)
}

// answers says whether a proxy hands out what the upstream says.
func answers(addr string) error {
	_, err := ask(addr, "GET", "")
	return err
}

// answersLimited says besides that its limit is charged.
func answersLimited(addr string) error {
	return askFor(addr, "GET", "", "X-RateLimit-Remaining")
}

// answersReplay says that the answer to the load's request is stored.
func answersReplay(addr string) error {
	return askFor(addr, "POST", "{}", "Idempotent-Replayed")
}

func askFor(addr, method, body, field string) error {
	header, err := ask(addr, method, body)
	if err == nil && header.Get(field) == "" {
		err = fmt.Errorf("answers without %s", field)
	}
	return err
}

func ask(addr, method, body string) (http.Header, error) {
	request, err := http.NewRequest(method, "http://"+addr+"/", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == "POST" {
		request.Header.Set("Idempotency-Key", "bench")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, errors.New(response.Status)
	case string(text) != originBody:
		return nil, errors.New("answers with another body")
	}
	return response.Header, nil
}
