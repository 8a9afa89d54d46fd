package wasm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/porchedge/porch/abi"
)

// wasiFunctions are the functions of WASI that the host has, by name.
type wasiFunctions map[string]api.FunctionDefinition

// checkImports refuses what the host does not have, by name, before anything is compiled.
func checkImports(imports []imported, wasi wasiFunctions) error {
	for _, i := range imports {
		full := oneLine([]byte(i.module+"."+i.name), maxErrorLine/2)
		switch {
		case i.kind != kindFunction:
			return fmt.Errorf("%w: imports %s, which is not a function; only functions of %s and %s can be imported",
				ErrImport, full, abi.Module, wasi_snapshot_preview1.ModuleName)
		case i.module == abi.Module && hostFunctionNamed(i.name) == nil:
			return fmt.Errorf("%w: imports %s, which this host does not have (known: %s)",
				ErrImport, full, strings.Join(hostFunctionNames(), ", "))
		case i.module == wasi_snapshot_preview1.ModuleName && wasi[i.name] == nil:
			return fmt.Errorf("%w: imports %s, which this host does not have (it has WASI preview 1)", ErrImport, full)
		case i.module != abi.Module && i.module != wasi_snapshot_preview1.ModuleName:
			return fmt.Errorf("%w: imports %s, which this host does not have (it has %s and %s)",
				ErrImport, full, abi.Module, wasi_snapshot_preview1.ModuleName)
		}
	}
	return nil
}

// checkSignatures compares what is imported with what the host has.
func checkSignatures(compiled wazero.CompiledModule, wasi wasiFunctions) error {
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		var params, results []api.ValueType
		if module == abi.Module {
			h := hostFunctionNamed(name)
			params, results = h.params, h.results
		} else {
			params, results = wasi[name].ParamTypes(), wasi[name].ResultTypes()
		}
		if !slices.Equal(f.ParamTypes(), params) || !slices.Equal(f.ResultTypes(), results) {
			return fmt.Errorf("%w: imports %s.%s as %s; it is %s", ErrImport, module, name,
				signature(f.ParamTypes(), f.ResultTypes()), signature(params, results))
		}
	}
	return nil
}

// checkExports asks for a memory within the limit and for the exports that the contract names.
func checkExports(compiled wazero.CompiledModule, limit uint64) error {
	memory, ok := compiled.ExportedMemories()[abi.ExportMemory]
	if !ok {
		return fmt.Errorf("%w: exports no memory named %q", ErrExport, abi.ExportMemory)
	}
	if least := uint64(memory.Min()) * pageSize; least > limit {
		return fmt.Errorf("%w: its memory starts with %d bytes, and the filter may have %d", ErrMemory, least, limit)
	}
	functions := compiled.ExportedFunctions()
	for _, name := range []string{abi.ExportConfigure, abi.ExportRequest, abi.ExportResponse} {
		f, ok := functions[name]
		if ok && (len(f.ParamTypes()) != 0 || !slices.Equal(f.ResultTypes(), resultI32)) {
			return fmt.Errorf("%w: exports %s as %s; it is %s", ErrExport, name,
				signature(f.ParamTypes(), f.ResultTypes()), signature(nil, resultI32))
		}
	}
	for _, name := range []string{exportInitialize, exportStart} {
		f, ok := functions[name]
		if ok && (len(f.ParamTypes()) != 0 || len(f.ResultTypes()) != 0) {
			return fmt.Errorf("%w: exports %s as %s; it is %s", ErrExport, name,
				signature(f.ParamTypes(), f.ResultTypes()), signature(nil, nil))
		}
	}
	if functions[abi.ExportRequest] == nil && functions[abi.ExportResponse] == nil {
		return fmt.Errorf("%w: exports neither %s nor %s", ErrExport, abi.ExportRequest, abi.ExportResponse)
	}
	return nil
}

func signature(params, results []api.ValueType) string {
	list := func(types []api.ValueType) string {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = api.ValueTypeName(t)
		}
		return strings.Join(names, ", ")
	}
	if len(results) == 0 {
		return "(" + list(params) + ")"
	}
	return "(" + list(params) + ") -> " + list(results)
}
