// Package stages makes the tables of a run with stages: the same loads on a server's memory, over one path, over two,
// each load beside itself in the other stages, with what share of another stage it reaches. It points out what is wrong
// with such a table: pairs that are not alike, figures that the links can't have carried or that one of them alone
// carried, and rows of a published table that are called otherwise than what was run. It is pure: a run and its
// repetitions in, a document out.
package stages
