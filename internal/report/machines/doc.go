// Package machines makes documents about machines without a load: diagnoses, and the differences of two.
package machines
