// Package ablation computes what each of several settings costs or gains: alone on the baseline, removed from the tuned
// set, and in pairs where effects do not add up. It is pure: arms and values in, a document out.
//
//	arms        the names of what is measured: baseline, +1, tuned, -1, +1+2
//	read        a saved run as a design and values
//	experiment  the ratios of arms, out of the blocks that visited them
//	settled     which arms need no further blocks
//	document    what is published: headroom/ablate/v1
//	price       the answers, setting by setting
//	sums        whether effects add up, and whether the baseline equals itself
package ablation
