// Command sidebyside asks headroom, benchstat and Apache Otava the same questions about the same simulated runs, and
// prints who is right how often, as the figures that the docs quote.
//
// It is a module of its own, so that nothing of benchstat becomes a dependency of headroom. It calls what benchstat
// calls (benchmath.AssumeNothing), and the published apache-otava in the Python that is named.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/headroom/headroom/internal/testing/figure"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sidebyside:", err)
		os.Exit(1)
	}
}

// record prints a figure, and keeps it where scripts/bench says.
func record(f figure.Figure) error {
	fmt.Println("figure: " + f.String())
	if file := os.Getenv(figure.Environment); file != "" {
		return figure.Append(file, f)
	}
	return nil
}

// run takes "decisions TRIALS", or "changes TRIALS [PYTHON]".
func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: decisions TRIALS | changes TRIALS [PYTHON]")
	}
	trials, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	switch args[0] {
	case "decisions":
		return decisions(trials)
	case "changes":
		python := ""
		if len(args) > 2 {
			python = args[2]
		}
		return changes(trials, python)
	}
	return fmt.Errorf("no %s", args[0])
}
