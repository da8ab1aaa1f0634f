package kubetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/testing/golden"
)

// kubeVirtRelease is the release of the saved schema.
const kubeVirtRelease = "v1.6.0"

// definition is the part of a resource definition other than its schema. Source:
// pkg/virt-operator/resource/generate/components/crds.go of the release.
type definition struct {
	singular, kind string
	short          []string
	// status is true if the status is a subresource.
	status bool
}

func kept() []definition {
	return []definition{
		{"virtualmachine", "VirtualMachine", []string{"vm", "vms"}, true},
		{"virtualmachineinstance", "VirtualMachineInstance", []string{"vmi", "vmis"}, false},
		{"virtualmachineinstancemigration", "VirtualMachineInstanceMigration", []string{"vmim", "vmims"}, true},
		{"kubevirt", "KubeVirt", []string{"kv", "kvs"}, true},
	}
}

// The saved definitions are of the release that they name, and have the fields that machines use. An update takes them
// from its module again.
func TestKubeVirtDefinitions(t *testing.T) {
	if golden.Update() {
		text := writeDefinitions(t)
		if err := os.WriteFile("kubevirt.yaml", text, 0o644); err != nil {
			t.Fatal(err)
		}
		definitions = string(text)
	}
	if !strings.Contains(definitions, "kubevirt.io/kubevirt@"+kubeVirtRelease) ||
		!strings.Contains(definitions, "Apache License") {
		t.Error("it does not say where the definitions are from")
	}
	d := yaml.NewDecoder(strings.NewReader(definitions))
	for _, want := range kept() {
		var is struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct{ Schema map[string]any }
			}
		}
		if err := d.Decode(&is); err != nil {
			t.Fatal(err)
		}
		if is.Spec.Names.Kind != want.kind || len(is.Spec.Versions) != 1 || len(is.Spec.Versions[0].Schema) == 0 {
			t.Errorf("%s: %s in %d versions", want.kind, is.Spec.Names.Kind, len(is.Spec.Versions))
		}
	}
	if n := strings.Count(definitions, "supplementalPoolThreadCount:"); n != 2 {
		t.Errorf("supplementalPoolThreadCount %d times", n)
	}
}

// writeDefinitions makes the definitions from the module of the release, as virt-operator does, but without
// descriptions, columns and the older version.
func writeDefinitions(t *testing.T) []byte {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", "kubevirt.io/kubevirt@"+kubeVirtRelease).Output()
	if err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	const file = "pkg/virt-operator/resource/generate/components/validations_generated.go"
	schemas := stringsOf(t, filepath.Join(module.Dir, file))
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Resource definitions of KubeVirt %s, for tests. The schemas are those of "+
		"kubevirt.io/kubevirt@%s,\n# %s,\n# without their descriptions, of version v1. Copyright The KubeVirt "+
		"Authors, Apache License 2.0: http://www.apache.org/licenses/LICENSE-2.0\n# Made by: UPDATE_GOLDEN=1 go test "+
		"./internal/testing/kubetest -run KubeVirtDefinitions\n", kubeVirtRelease, kubeVirtRelease, file)
	for _, k := range kept() {
		var schema map[string]any
		if err := yaml.Unmarshal([]byte(schemas[k.singular]), &schema); err != nil || len(schema) == 0 {
			t.Fatalf("%s: %v", k.singular, err)
		}
		undescribed(schema)
		version := map[string]any{"name": "v1", "served": true, "storage": true, "schema": schema}
		if k.status {
			version["subresources"] = map[string]any{"status": map[string]any{}}
		}
		b.WriteString("---\n")
		e := yaml.NewEncoder(&b)
		e.SetIndent(1)
		err := e.Encode(map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": k.singular + "s.kubevirt.io"},
			"spec": map[string]any{"group": "kubevirt.io", "scope": "Namespaced", "versions": []any{version},
				"names": map[string]any{"plural": k.singular + "s", "singular": k.singular, "kind": k.kind,
					"shortNames": k.short, "categories": []string{"all"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// undescribed removes descriptions from a schema: they are text, while a property of that name is a schema.
func undescribed(of any) {
	switch v := of.(type) {
	case map[string]any:
		if _, text := v["description"].(string); text {
			delete(v, "description")
		}
		for _, e := range v {
			undescribed(e)
		}
	case []any:
		for _, e := range v {
			undescribed(e)
		}
	}
}

// stringsOf returns the entries of the map of strings in a Go file.
func stringsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		var texts [2]string
		for i, e := range []ast.Expr{pair.Key, pair.Value} {
			literal, ok := e.(*ast.BasicLit)
			if !ok {
				return true
			}
			if texts[i], err = strconv.Unquote(literal.Value); err != nil {
				t.Fatal(err)
			}
		}
		all[texts[0]] = texts[1]
		return true
	})
	return all
}
