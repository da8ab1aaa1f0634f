package cli

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// countValue is the value of a flag that takes a number of times: at least 1. 0 stands for a flag that was not given,
// so a 0 that was typed would be taken for the default.
type countValue int

func (n *countValue) String() string { return strconv.Itoa(int(*n)) }

// Type is the word that help shows behind the flag.
func (n *countValue) Type() string { return "int" }

// Set reads what was typed.
func (n *countValue) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err == nil && v < 1 {
		err = errors.New("less than 1")
	}
	*n = countValue(v)
	return err
}

// countVar defines a flag that takes a number of times.
func countVar(f *pflag.FlagSet, to *int, name, usage string) { f.Var((*countValue)(to), name, usage) }

// budgetVar defines the flag that limits the time of a number of passes.
func budgetVar(f *pflag.FlagSet, to *time.Duration) {
	f.DurationVar(to, "budget", 0,
		"time limit, like 10m: no pass starts that would end later; with --resume it counts from now")
}
