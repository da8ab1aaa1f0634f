package cli

import (
	"errors"
	"strconv"
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
