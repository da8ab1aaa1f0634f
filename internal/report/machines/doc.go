// Package machines makes documents of what is known of machines without a load: diagnoses, and the differences of two.
package machines
