package triad_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestPackagesInSharedHaveNoState: a package variable is an error, a blank
// assertion, or a table that nothing ever writes.
func TestPackagesInSharedHaveNoState(t *testing.T) {
	t.Parallel()
	globals, written := map[string]string{}, map[string]string{}
	for _, f := range sources(t) {
		if f.test || !strings.HasPrefix(f.name, "shared/") {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, name := range variables(d) {
					globals[f.in.path()+"."+name] = f.name
				}
			case *ast.FuncDecl:
				if d.Name.Name == "init" && d.Recv == nil {
					t.Errorf("%s has an init function", f.name)
				}
				for _, name := range writes(d) {
					written[f.in.path()+"."+name] = f.name + ": " + d.Name.Name
				}
			}
		}
	}
	for name, file := range globals {
		if where := written[name]; where != "" {
			t.Errorf("%s: the package variable %s is written by %s: make it a field", file, name, where)
		}
	}
}

// variables are the names of package variables that are not blank.
func variables(d *ast.GenDecl) (names []string) {
	if d.Tok != token.VAR {
		return nil
	}
	for _, s := range d.Specs {
		for _, n := range s.(*ast.ValueSpec).Names {
			if n.Name != "_" {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// writes are the names that a function assigns to, deletes from or gives the
// address of, but for those it declares itself.
func writes(fn *ast.FuncDecl) (names []string) {
	own := map[string]bool{}
	add := func(e ast.Expr) {
		if name := rootOf(e); name != "" && !own[name] {
			names = append(names, name)
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if e != nil && n.Tok == token.DEFINE {
					own[rootOf(e)] = true
				}
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if n.Tok == token.DEFINE {
					own[rootOf(e)] = true
				} else {
					add(e)
				}
			}
		case *ast.IncDecStmt:
			add(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				add(n.X)
			}
		case *ast.CallExpr:
			if changing := []string{"delete", "clear"}; slices.Contains(changing, rootOf(n.Fun)) && len(n.Args) > 0 {
				add(n.Args[0])
			}
			if s, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains([]string{"Store", "Add", "Lock", "Do", "Swap"}, s.Sel.Name) {
				add(s.X)
			}
		}
		return true
	})
	return names
}

// rootOf is the name that an expression begins with: x of x.f[i], *x and x[T].
func rootOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return rootOf(e.X)
	case *ast.IndexExpr:
		return rootOf(e.X)
	case *ast.IndexListExpr:
		return rootOf(e.X)
	case *ast.SliceExpr:
		return rootOf(e.X)
	case *ast.StarExpr:
		return rootOf(e.X)
	case *ast.ParenExpr:
		return rootOf(e.X)
	}
	return ""
}
