package triad_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path of everything that is ours.
const module = "triad/"

// standins is the folder of the package that starts what stands in for AWS.
const standins = "infra/standin"

// The limits of style.
const (
	maxFileLines     = 500
	maxFunctionLines = 80
)

// pkg is a package as `go list` tells of it.
type pkg struct {
	ImportPath, Dir, Name, Doc                         string
	GoFiles, TestGoFiles, XTestGoFiles, IgnoredGoFiles []string
	Imports, TestImports, XTestImports, Deps           []string
}

// path is the package's folder in the repository.
func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// support reports a package that exists for tests.
func (p pkg) support() bool { return forTests(p.path()) }

// forTests reports the folder of a package that exists for tests: its name ends
// in test, or it starts what stands in for AWS.
func forTests(folder string) bool {
	return strings.HasSuffix(folder, "test") || folder == standins
}

// ours are the imports that are packages of this repository, by folder.
func (p pkg) ours() (all []string) {
	for _, i := range p.Imports {
		if folder, found := strings.CutPrefix(i, module); found {
			all = append(all, folder)
		}
	}
	return all
}

// packages lists every package once.
var packages = sync.OnceValues(func() ([]pkg, error) {
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,Doc,GoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles,Imports,TestImports,XTestImports,Deps", "./...").Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		if p.Name != "" && len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	return all, nil
})

func list(t *testing.T) []pkg {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("go list tells of %d packages: too few to be true", len(all))
	}
	return all
}

// TestArrowsPointOneWay: cmd -> engines -> contracts -> task -> the standard
// library; adapters know their contract and task, and never each other. The
// first row that fits a package holds for it. A package that fits none may
// import what it likes, of ours.
func TestArrowsPointOneWay(t *testing.T) {
	t.Parallel()
	contracts := []string{"shared/task", "shared/store", "shared/queue"}
	engines := append([]string{"shared/engine"}, contracts...)
	rules := []struct {
		packages string // a pattern of package path
		may      []string
	}{
		{"shared/task", nil},
		{"shared/workflow", []string{"shared/task"}},
		{"shared/store", []string{"shared/task"}},
		{"shared/queue", []string{"shared/task"}},
		{"shared/store/record", []string{"shared/task", "shared/store"}},
		{"shared/store/*", []string{"shared/task", "shared/store", "shared/store/record"}},
		{"shared/queue/refusal", nil},
		{"shared/queue/*", []string{"shared/task", "shared/queue", "shared/queue/refusal"}},
		{"shared/consumer", []string{"shared/queue"}},
		{"shared/engine", contracts},
		{"shared/submission", engines},
		{"shared/scheduler", engines},
		{"shared/supervisor", engines},
		{"shared/operator", engines},
		{"shared/doctor", engines},
		{"shared/agent", []string{"shared/task", "shared/queue"}},
		{"shared/agent/*", []string{"shared/task", "shared/agent"}},
		{"shared/outlet", append([]string{"shared/queue/refusal"}, contracts...)},
		{"shared/remote", nil},
		{"shared/trigger", []string{"shared/queue"}},
		{"shared/telemetry/emf", []string{"shared/task", "shared/agent", "shared/supervisor"}},
	}
	for _, p := range list(t) {
		if p.support() {
			continue
		}
		for _, r := range rules {
			if fits, err := path.Match(r.packages, p.path()); err != nil || !fits {
				continue
			}
			for _, i := range p.ours() {
				if !slices.Contains(r.may, i) {
					t.Errorf("%s imports %s; of ours it may import %v", p.path(), i, r.may)
				}
			}
			break
		}
		for _, i := range p.ours() {
			if strings.HasPrefix(p.path(), "shared/") && !strings.HasPrefix(i, "shared/") {
				t.Errorf("%s imports %s: shared packages know nothing of programs", p.path(), i)
			}
		}
	}
}

func TestTheCoreImportsTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		for _, i := range p.Deps {
			if first, _, _ := strings.Cut(i, "/"); p.path() == "shared/task" && (strings.Contains(first, ".") || strings.HasPrefix(i, module)) {
				t.Errorf("%s depends on %s", p.path(), i)
			}
		}
	}
}

// TestWhoMayImportWhat: each of these, with all that is in it, is known to few.
func TestWhoMayImportWhat(t *testing.T) {
	t.Parallel()
	rules := []struct {
		imports string
		may     []string
	}{
		{"net/http", []string{"shared/api", "shared/api/client", "shared/agent/httpagent", "shared/agent/payment", "shared/cloud/carrier", "shared/remote", "shared/telemetry", "cmd/*", "cmd/*/*", "infra/*/*"}},
		{"modernc.org/sqlite", []string{"shared/store/sqlitestore"}},
		{"database/sql", []string{"shared/store/sqlitestore"}},
		{"github.com/aws/aws-lambda-go", []string{"shared/trigger"}},
		{"github.com/prometheus", []string{"shared/telemetry"}},
		{"testing", nil},
	}
	for _, p := range list(t) {
		if p.support() {
			continue
		}
		for _, r := range rules {
			may := func(pattern string) bool { fits, err := path.Match(pattern, p.path()); return err == nil && fits }
			for _, i := range p.Imports {
				if (i == r.imports || strings.HasPrefix(i, r.imports+"/")) && !slices.ContainsFunc(r.may, may) {
					t.Errorf("%s imports %s; only %v may", p.path(), i, r.may)
				}
			}
		}
		for _, i := range p.ours() {
			// Programs of infra start the stand-ins as tests do.
			if forTests(i) && !(i == standins && strings.HasPrefix(p.path(), "infra/")) {
				t.Errorf("%s imports %s, which is for tests", p.path(), i)
			}
		}
	}
}

// TestEnginesRunAnywhere: nothing that they depend on, however far, is an
// adapter, a server or a database.
func TestEnginesRunAnywhere(t *testing.T) {
	t.Parallel()
	engines := []string{"shared/engine", "shared/submission", "shared/scheduler", "shared/supervisor", "shared/operator", "shared/doctor"}
	for _, p := range list(t) {
		if !slices.Contains(engines, p.path()) {
			continue
		}
		for _, i := range p.Deps {
			adapter := strings.HasPrefix(i, module+"shared/store/") || strings.HasPrefix(i, module+"shared/queue/")
			if adapter || i == "net/http" || i == "net" || i == "database/sql" || strings.HasPrefix(i, "modernc.org/") {
				t.Errorf("%s depends on %s", p.path(), i)
			}
		}
	}
}

// TestOnlyWhatRunsOnAWSKnowsAWS: what is of AWS is imported by its adapters and by
// what makes their clients; it comes, however far, into nothing else but the
// programs, and no adapter brings a database along.
func TestOnlyWhatRunsOnAWSKnowsAWS(t *testing.T) {
	t.Parallel()
	adapters := []string{"shared/store/dynamostore", "shared/queue/sqsqueue", "shared/outlet", "shared/trigger"}
	clients := []string{"shared/function", "shared/cloud", "shared/cloud/carrier", "shared/cloud/cloudtest", "cmd/triad/stack"}
	programs := []string{"functions/*", "functions/*/*", "cmd/triad", "cmd/triad/command"}
	sdk := func(i string) bool { return strings.HasPrefix(i, "github.com/aws/") }
	for _, p := range list(t) {
		if strings.HasPrefix(p.path(), "infra/") {
			continue
		}
		adapter, makes := slices.Contains(adapters, p.path()), slices.Contains(clients, p.path())
		if !adapter && !makes && slices.ContainsFunc(p.Imports, sdk) {
			t.Errorf("%s imports the SDK of AWS: only %v, %v and infra may", p.path(), adapters, clients)
		}
		program := slices.ContainsFunc(programs, func(pattern string) bool { fits, err := path.Match(pattern, p.path()); return err == nil && fits })
		for _, i := range p.Deps {
			switch {
			case !adapter && !makes && !program && (sdk(i) || slices.Contains(adapters, strings.TrimPrefix(i, module))):
				t.Errorf("%s depends on %s, which is of AWS", p.path(), i)
			case adapter && (strings.HasPrefix(i, "modernc.org/") || i == "database/sql"):
				t.Errorf("%s depends on %s, which no function on AWS may link", p.path(), i)
			}
		}
	}
}

func TestPackagesAreNounsWithAComment(t *testing.T) {
	t.Parallel()
	vague := []string{"util", "utils", "common", "types", "handlers", "helpers", "models", "core", "misc", "base", "lib"}
	for _, p := range list(t) {
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s: %q says nothing of what it is", p.path(), p.Name)
		}
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.path())
		}
	}
}

// source is a parsed file.
type source struct {
	*ast.File
	name string
	test bool
	in   pkg
	fset *token.FileSet
}

// lines is how many lines a part of the file has.
func (f source) lines(n ast.Node) int {
	return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
}

// sources parses every file of every package, tests included.
func sources(t *testing.T) (all []source) {
	t.Helper()
	for _, p := range list(t) {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles, p.IgnoredGoFiles) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v", p.path(), err)
				continue
			}
			all = append(all, source{
				File: file, name: path.Join(p.path(), name), test: strings.HasSuffix(name, "_test.go"), in: p, fset: fset,
			})
		}
	}
	return all
}

func TestFilesAndFunctionsCanBeReadInOneGo(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if n := f.fset.File(f.FileStart).LineCount(); n > maxFileLines {
			t.Errorf("%s has %d lines: at most %d", f.name, n, maxFileLines)
		}
		for _, d := range f.Decls {
			fn, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			n := f.lines(fn)
			if f.test || f.in.support() {
				n -= f.table(fn)
			}
			if n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines: at most %d", f.name, fn.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

// table is how many lines of a function are data: the rows of a test's table.
func (f source) table(fn *ast.FuncDecl) (n int) {
	ast.Inspect(fn, func(part ast.Node) bool {
		rows, is := part.(*ast.CompositeLit)
		if is {
			n += f.lines(rows)
		}
		return !is
	})
	return n
}

func TestTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		ast.Inspect(f.File, func(n ast.Node) bool {
			if f.test || f.in.support() {
				if s, is := n.(*ast.SelectorExpr); is && s.Sel.Name == "Sleep" && rootOf(s) == "time" {
					t.Errorf("%s sleeps: wait for what must come, or use a clock of your own", f.name)
				}
			}
			return true
		})
	}
}

func TestEveryExportedNameInSharedIsDocumented(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test || !strings.HasPrefix(f.name, "shared/") {
			continue
		}
		for _, d := range f.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s is exported and has no comment", f.name, name)
			}
		}
	}
}

// undocumented are the exported names of a declaration that nothing explains. A
// comment on a group counts for each of its names.
func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		exported := d.Name.IsExported()
		if d.Recv != nil && len(d.Recv.List) == 1 {
			exported = exported && ast.IsExported(rootOf(d.Recv.List[0].Type)) && !selfEvident(d)
		}
		if exported && d.Doc == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// selfEvident reports the methods of the standard library's own interfaces.
func selfEvident(d *ast.FuncDecl) bool {
	return slices.Contains([]string{"Error", "String", "Unwrap", "Len", "Less", "Swap", "Push", "Pop"}, d.Name.Name)
}
