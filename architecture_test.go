// Package porch_test holds the rules of the whole tree that the compiler does not check.
package porch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/porchedge/porch"

// mayImport lists, for each part of the tree, the parts that it may import directly. A part is a folder
// with all below it, unless a longer one is listed.
var mayImport = map[string][]string{
	"abi":            {},
	"guest":          {"abi"},
	"filters":        {"guest", "abi", "filters"},
	"store":          {"store"},
	"pool":           {"store"},
	"host":           {"host", "pool", "store", "abi", "filters"},
	"host/config":    {"abi"},
	"host/exchange":  {"abi", "pool"},
	"host/token":     {"abi"},
	"host/wasm":      {"host/exchange", "host/token", "abi", "pool", "store"},
	"cmd":            {"host", "pool", "store", "filters", "cmd"},
	"cmd/porch/demo": {},
	"wasmtests":      {"abi", "host", "pool", "store", "filters", "wasmtests"},
	"wasmtests/kit":  {"abi"},
}

// testsMayImport lists what tests of a part may import besides.
var testsMayImport = map[string][]string{
	"host": {"guest", "wasmtests/kit"},
	"cmd":  {"wasmtests/kit", "abi"},
}

type listedPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestImportRules(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "" {
			continue
		}
		part := partOf(name)
		if part == "" {
			t.Errorf("%s belongs to no part of the architecture: list it in mayImport", name)
			continue
		}
		allowed := mayImport[part]
		checkImports(t, name, part, p.Imports, allowed)
		top, _, _ := strings.Cut(part, "/")
		forTests := slices.Concat(allowed, testsMayImport[top], testsMayImport[part])
		checkImports(t, name+" (tests)", part, slices.Concat(p.TestImports, p.XTestImports), forTests)
	}
}

func checkImports(t *testing.T, name, part string, imports, allowed []string) {
	t.Helper()
	for _, imp := range imports {
		ours, ok := strings.CutPrefix(imp, module+"/")
		if !ok || within(ours, part) {
			continue
		}
		if !slices.ContainsFunc(allowed, func(a string) bool { return within(ours, a) }) {
			t.Errorf("%s imports %s; %s may import only %v", name, ours, part, allowed)
		}
	}
}

func within(name, part string) bool {
	return name == part || strings.HasPrefix(name, part+"/")
}

func partOf(name string) string {
	for p := name; p != "."; p = path.Dir(p) {
		if _, ok := mayImport[p]; ok {
			return p
		}
	}
	return ""
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// Whoever starts a goroutine says in a comment on the line above when it stops.
func TestEveryGoroutineSaysWhenItStops(t *testing.T) {
	eachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		comments := map[int]string{}
		for _, g := range file.Comments {
			comments[fset.Position(g.End()).Line] = g.Text()
		}
		ast.Inspect(file, func(n ast.Node) bool {
			stmt, ok := n.(*ast.GoStmt)
			if !ok {
				return true
			}
			line := fset.Position(stmt.Pos()).Line
			if !strings.Contains(strings.ToLower(comments[line-1]+comments[line]), "stops when") {
				t.Errorf("%s:%d: go statement without a comment that says when it stops", name, line)
			}
			return true
		})
	})
}

// Time that decisions rest on comes from store/clock alone, and nothing leans on finalizers.
func TestForbiddenCalls(t *testing.T) {
	forbidden := map[string][]string{
		"time.Now":             {"store", "pool", "abi"},
		"runtime.SetFinalizer": {"abi", "guest", "filters", "store", "pool", "host", "cmd"},
		"runtime.AddCleanup":   {"abi", "guest", "filters", "store", "pool", "host", "cmd"},
		"os.Exit":              {"abi", "guest", "filters", "store", "pool", "host"},
	}
	eachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if within(name, "store/clock") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			call := pkg.Name + "." + sel.Sel.Name
			for _, part := range forbidden[call] {
				if within(name, part) {
					t.Errorf("%s:%d: %s does not belong in %s", name, fset.Position(sel.Pos()).Line, call, part)
				}
			}
			return true
		})
	})
}

// eachFile visits the Go files of the module that are not tests.
func eachFile(t *testing.T, visit func(name string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	for part := range mayImport {
		if strings.Contains(part, "/") {
			continue
		}
		err := filepath.WalkDir(part, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			visit(filepath.ToSlash(name), fset, file)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
