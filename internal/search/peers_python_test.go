package search_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/search"
)

// pythonOfPeers is the Python that has the published packages; scripts/bench installs them. Empty, with a skipped test
// that has the reason, where there is none.
func pythonOfPeers(t *testing.T) (python string) {
	t.Run("git-bayesect and picire", func(t *testing.T) {
		named := os.Getenv("HEADROOM_SEARCH_PEERS")
		if named == "" {
			t.Skip("scripts/bench asks them, and sets HEADROOM_SEARCH_PEERS to a Python that has them")
		}
		if out, err := exec.Command(named, "-c", "import git_bayesect, picire").CombinedOutput(); err != nil {
			t.Skipf("%s has no git-bayesect and picire: %v: %s", named, err, out)
		}
		python = named
	})
	return python
}

// bayesect is git_bayesect, told that one end is fast and the other one slow: it finds out by itself otherwise, which
// takes it longer.
func bayesect(python string) peer {
	return peer{name: "git_bayesect", shares: []float64{0.5}, open: func() (finder, func() error, error) {
		p, err := startPlayer(python, "testdata/bayesect.py")
		return func(space search.Space, test *tester) ([]int, error) {
			return p.play(strconv.Itoa(space.Candidates), func(asked []int) search.Subset {
				return space.First(asked[0])
			}, test)
		}, p.close, err
	}}
}

// ddmin is that of picire. To find several culprits it needs a threshold that only all of them together pass, which a
// user would have to know: it is given the better one.
func ddmin(python string) peer {
	return peer{name: "ddmin (picire)", shares: []float64{0.5, 0.75}, open: func() (finder, func() error, error) {
		p, err := startPlayer(python, "testdata/ddmin.py")
		return func(space search.Space, test *tester) ([]int, error) {
			return p.play(strconv.Itoa(space.Candidates), func(asked []int) search.Subset {
				return space.Only(asked...)
			}, test)
		}, p.close, err
	}}
}

// player is a process that plays one search after the other.
type player struct {
	in      io.WriteCloser
	out     *bufio.Reader
	process *exec.Cmd
}

func startPlayer(python, script string) (*player, error) {
	c := exec.Command(python, script)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &player{in, bufio.NewReader(out), c}, c.Start()
}

func (p *player) close() error { return errors.Join(p.in.Close(), p.process.Wait()) }

// play a search, answering what is asked.
func (p *player) play(begin string, subset func([]int) search.Subset, test *tester) ([]int, error) {
	say := begin
	for {
		if _, err := fmt.Fprintln(p.in, say); err != nil {
			return nil, err
		}
		line, err := p.out.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("reading what %v says: %w", p.process.Args, err)
		}
		words := strings.Fields(line)
		var numbers []int
		for _, word := range words[1:] {
			n, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("%v says %q: %w", p.process.Args, line, err)
			}
			numbers = append(numbers, n)
		}
		if words[0] == "found" {
			return numbers, nil
		}
		switch {
		case test.asked >= maxQuestions:
			say = "stop"
		case test.slow(subset(numbers)):
			say = "1"
		default:
			say = "0"
		}
	}
}
