package lab

import "time"

// Progress is how far a run that goes on has come, as the process that carries it out said last: when something began
// or a repetition ended.
type Progress struct {
	// At is when it was said.
	At time.Time `json:"at"`
	// Count of what has ended, of a total where that is known: "3/24", "block 1 of 4, 12 loads left".
	Count string `json:"count"`
	// Doing is what goes on: "randwrite 4k q128 x4", "laying out 1 GiB".
	Doing string `json:"doing"`
	// Elapsed since this process began to measure, and Left until it will have ended, in seconds; Left is 0 where
	// nobody knows. AtMost says that it may end before.
	Elapsed float64 `json:"elapsed"`
	Left    float64 `json:"left,omitempty"`
	AtMost  bool    `json:"at_most,omitempty"`
}

// LeftAt is how many seconds are left at another time; 0 where nobody knows.
func (p Progress) LeftAt(now time.Time) float64 {
	return max(0, p.Left-max(0, now.Sub(p.At).Seconds()))
}
