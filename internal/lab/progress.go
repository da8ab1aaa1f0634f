package lab

import "time"

// Progress is the progress of a run that is being measured. The process that measures it last updated it when a load
// began or a repetition ended.
type Progress struct {
	// At is the time of the update.
	At time.Time `json:"at"`
	// Count of finished items, of a total if known: "3/24", "block 1 of 4, 12 loads left".
	Count string `json:"count"`
	// Doing is the current activity: "randwrite 4k q128 x4", "laying out 1 GiB".
	Doing string `json:"doing"`
	// Elapsed is the time since this process began to measure, and Left the time until it will end, in seconds; Left is
	// 0 if unknown. AtMost is true if it may end earlier.
	Elapsed float64 `json:"elapsed"`
	Left    float64 `json:"left,omitempty"`
	AtMost  bool    `json:"at_most,omitempty"`
}

// LeftAt returns how many seconds are left at another time; 0 if unknown.
func (p Progress) LeftAt(now time.Time) float64 {
	return max(0, p.Left-max(0, now.Sub(p.At).Seconds()))
}
