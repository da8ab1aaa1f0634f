package main

import (
	"math"
	"math/rand/v2"
)

// model is what one run scatters like: mean 0, standard deviation 1.
type model struct {
	name string
	draw func(*rand.Rand) float64
}

func models() []model {
	return []model{
		{"Gaussian", (*rand.Rand).NormFloat64},
		{"t3", func(r *rand.Rand) float64 {
			squares := 0.0
			for range 3 {
				g := r.NormFloat64()
				squares += g * g
			}
			return r.NormFloat64() / math.Sqrt(squares)
		}},
		{"two-mode", func(r *rand.Rand) float64 { // three of ten at another level
			const low, share, own = 2, 0.3, 0.3
			x := low*share + own*r.NormFloat64()
			if r.Float64() < share {
				x -= low
			}
			return x / math.Sqrt(own*own+low*low*share*(1-share))
		}},
	}
}

// values are n runs around a level.
func (m model) values(r *rand.Rand, n int, level, sigma float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level * math.Exp(sigma*m.draw(r))
	}
	return out
}
