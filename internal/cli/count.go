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

// seedValue is the value of a flag that takes the seed of a random order. 0 stands for a flag that was not given, so a
// 0 that was typed would be a random seed.
type seedValue uint64

func (n *seedValue) String() string { return strconv.FormatUint(uint64(*n), 10) }

// Type is the word that help shows behind the flag.
func (n *seedValue) Type() string { return "uint" }

// Set reads what was typed.
func (n *seedValue) Set(text string) error {
	v, err := strconv.ParseUint(text, 0, 64)
	if err == nil && v == 0 {
		err = errors.New("less than 1")
	}
	*n = seedValue(v)
	return err
}

// seedVar defines the flag that gives a random order again.
func seedVar(f *pflag.FlagSet, to *uint64, usage string) { f.Var((*seedValue)(to), "seed", usage) }
