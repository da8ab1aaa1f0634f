package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"headroom/internal/lab"
)

// nodes are those that match and can have a pod now, by name.
func (s *Set) nodes(ctx context.Context, o Options) ([]string, error) {
	var names []string
	err := s.cluster.each(ctx, nodes(), metav1.ListOptions{LabelSelector: labels.FormatLabels(o.NodeLabels)},
		func(n *unstructured.Unstructured) {
			if why := whyUnfit(n.Object, o.Tolerate); why != "" {
				s.LeftOut = append(s.LeftOut, "node "+n.GetName()+" is left out: "+why)
				return
			}
			names = append(names, n.GetName())
		})
	if err != nil {
		return nil, &lab.Error{What: "can't list the nodes", Target: o.Name, Err: err,
			Hints: []string{"ask for a role with the permission list nodes, which belong to no namespace",
				"kubectl auth can-i list nodes"}}
	}
	if len(names) == 0 {
		e := &lab.Error{Kind: lab.Usage, What: "no node matches that can have a pod", Target: o.Name,
			Hints: s.LeftOut[:min(len(s.LeftOut), 5)]}
		if len(e.Hints) == 0 {
			e.Hints = []string{"kubectl get nodes --show-labels"}
		}
		return nil, e
	}
	slices.SortFunc(names, compareNatural)
	return names, nil
}

// whyUnfit says why a node can't have a pod now; empty where it can.
func whyUnfit(node object, tolerate bool) string {
	conditions, _, _ := unstructured.NestedSlice(node, "status", "conditions")
	ready := "it does not say whether it is ready"
	for _, c := range conditions {
		if one, ok := c.(object); ok && one["type"] == "Ready" {
			if ready = ""; one["status"] != "True" {
				ready = fmt.Sprintf("it is not ready (%v)", one["reason"])
			}
		}
	}
	if ready != "" || tolerate {
		return ready
	}
	if off, _, _ := unstructured.NestedBool(node, "spec", "unschedulable"); off {
		return "it is cordoned; add tolerate to have a pod there all the same"
	}
	if taint := hardTaint(node); taint != "" {
		return "it has the taint " + taint + "; add tolerate to have a pod there all the same"
	}
	return ""
}

// compareNatural orders names with the numbers in them as numbers: node-2 before node-10.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		i, j := digits(a), digits(b)
		if i > 0 && j > 0 {
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			break
		}
		a, b = a[1:], b[1:]
	}
	return strings.Compare(a, b)
}

// digits is how many a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
