package tree

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// kindsOfTargets returns the packages with one kind of target each.
func kindsOfTargets() []string {
	return []string{"internal/host/qemu", "internal/host/kube", "internal/host/bootloader"}
}

// listOfKinds is the one file outside internal/host that may know what kind a target is.
const listOfKinds = "internal/app/targetkinds.go"

// testSupport has what only tests import: stand-ins, scripted machines, golden files, figures, noise.
const testSupport = "internal/testing"

// usersOfKinds returns the files that may import a kind of target, with the reason.
func usersOfKinds() map[string]string {
	return map[string]string{
		"internal/app/talos.go":                "it makes a host of the list bootable, by the way that is asked for",
		listOfKinds:                            "it lists the kinds and opens targets",
		"internal/facts/machine/bootloader.go": "EFI variables hold text in the same way for facts and for boots",
		"internal/recovery/recovery.go":        "records of what was made in a cluster or put on a host for a boot",
		"internal/experiment/vary/booting.go":  "a host is recorded before it is booted",
		"internal/cli/variation.go":            "the help of --boot-way names the ways",
	}
}

func TestKindsOfTargetsAreKnownInOneList(t *testing.T) {
	t.Chdir(root)
	users := map[string]bool{}
	for _, f := range goFiles(t, false) {
		for _, imp := range f.imports {
			ours, _ := strings.CutPrefix(imp, module)
			if within(f.dir, "internal/host") || within(f.dir, testSupport) ||
				!slices.Contains(kindsOfTargets(), ours) {
				continue
			}
			users[f.name] = true
			if usersOfKinds()[f.name] == "" {
				t.Errorf("%s imports %s; ask an open target by an interface of internal/host/capabilities.go, and a "+
					"name for its traits", f.name, ours)
			}
		}
	}
	for name, reason := range usersOfKinds() {
		if !users[name] {
			t.Errorf("usersOfKinds() has %s (%s), which imports no kind any more", name, reason)
		}
	}
}

// Code asks what a target can do by interface: no type assertion to a kind, no comparison of its name, no check of its
// prefix.
func TestTargetsAreAskedByInterface(t *testing.T) {
	t.Chdir(root)
	asked := 0
	for _, f := range goFiles(t, false) {
		if within(f.dir, "internal/host") || f.name == listOfKinds {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if strings.HasPrefix(exprName(n.Type), "host.") {
					asked++
				}
				f.refuseKind(t, n.Type)
			case *ast.CaseClause:
				for _, e := range n.List {
					f.refuseKind(t, e)
				}
			case *ast.BinaryExpr:
				f.refuseComparison(t, n)
			case *ast.CallExpr:
				f.refusePrefix(t, n)
			}
			return true
		})
	}
	if asked == 0 {
		t.Error("nobody asks what a target can do, or the test does not see it")
	}
}

// refuseKind reports a pointer to a type of a package of targets: their interfaces are not pointers, and their errors
// are tested by errors.As.
func (f goFile) refuseKind(t *testing.T, e ast.Expr) {
	t.Helper()
	star, ok := e.(*ast.StarExpr)
	if !ok {
		return
	}
	pkg, _, _ := strings.Cut(exprName(star.X), ".")
	if slices.ContainsFunc(append(kindsOfTargets(), "internal/host"), func(dir string) bool {
		return strings.HasSuffix(dir, "/"+pkg)
	}) {
		t.Errorf("%s asks for %s; ask for an interface of internal/host/capabilities.go", f.at(e), exprName(star.X))
	}
}

// refuseComparison reports comparisons of a target's name with the name of this machine.
func (f goFile) refuseComparison(t *testing.T, n *ast.BinaryExpr) {
	t.Helper()
	name := n.X
	if call, ok := n.X.(*ast.CallExpr); ok {
		name = call.Fun
	}
	printed, isSelector := name.(*ast.SelectorExpr)
	literal, isLiteral := n.Y.(*ast.BasicLit)
	if (n.Op == token.EQL || n.Op == token.NEQ) && isSelector && slices.Contains([]string{"Name", "Target"},
		printed.Sel.Name) && isLiteral && literal.Value == `"local"` {
		t.Errorf("%s compares a name; ask host.IsLocal, or RunTarget.Remote of a saved run", f.at(n))
	}
}

// refusePrefix reports checks of the prefix of a target's name.
func (f goFile) refusePrefix(t *testing.T, n *ast.CallExpr) {
	t.Helper()
	if !slices.Contains([]string{"strings.HasPrefix", "strings.TrimPrefix", "strings.CutPrefix"}, exprName(n.Fun)) {
		return
	}
	scheme := regexp.MustCompile(`^"(kube|qemu|ssh|talos):`)
	if literal, ok := n.Args[1].(*ast.BasicLit); ok && scheme.MatchString(literal.Value) {
		t.Errorf("%s looks at the name of a target; ask for its traits", f.at(n))
	}
}
