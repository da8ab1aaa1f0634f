package cli

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/app"
)

func exitCodeHelp() string {
	var b strings.Builder
	b.WriteString("\nExit codes:\n  0    done\n")
	for _, e := range app.ExitCodes() {
		fmt.Fprintf(&b, "  %-4d %s\n", e.Code, e.Meaning)
	}
	return b.String()
}
