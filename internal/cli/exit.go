package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

func exitCodeHelp(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("{{if not .HasParent}}\nExit codes:\n  0    done\n")
	for _, e := range app.ExitCodes() {
		fmt.Fprintf(&b, "  %-4d %s\n", e.Code, e.Meaning)
	}
	b.WriteString("{{end}}")
	return b.String()
}
