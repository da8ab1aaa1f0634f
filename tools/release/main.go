// Command release makes those parts of a release that goreleaser does not: the licences of what a binary is linked
// from, its software bill of materials, and a container image for several architectures as one file. scripts/release
// calls it.
//
// It is a module of its own as the other tools are, and needs nothing but Go's own library.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

const usage = `usage:
  release licences BINARY                  the licences of what it is linked from
  release sbom NAME VERSION BINARY         its software bill of materials, in SPDX
  release image NAME VERSION COMMIT OUT FOLDER...
                                           a container image as an OCI archive; each FOLDER, named after an architecture,
                                           has the files of its image; FOLDER.base.tar, if it is there, is what they
                                           are put on
They are called in the folder of the repository. SOURCE_DATE_EPOCH is the time of everything that is made.`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	made, err := sourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	switch {
	case len(args) == 2 && args[0] == "licences":
		return writeLicences(os.Stdout, ".", args[1])
	case len(args) == 4 && args[0] == "sbom":
		return writeSBOM(os.Stdout, ".", args[1], args[2], args[3], made)
	case len(args) > 5 && args[0] == "image":
		return writeImage(image{name: args[1], version: args[2], commit: args[3], made: made}, args[4], args[5:])
	}
	return errors.New(usage)
}

// sourceDate is the time that reproducible builds agree on: https://reproducible-builds.org/specs/source-date-epoch/
func sourceDate(epoch string) (time.Time, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH=%q: want seconds since 1970, as git log -1 --format=%%ct prints", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
