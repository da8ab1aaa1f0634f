package store

import "errors"

// Partners are the runs that were measured in turns with one (lab.Run.Pair), itself included; none where it was
// measured by itself.
func (s *Store) Partners(of *Bundle) ([]*Bundle, error) {
	if of.Run.Pair == "" {
		return nil, nil
	}
	rows, damaged := s.List()
	var found []*Bundle
	for _, row := range rows {
		if row.Pair != of.Run.Pair {
			continue
		}
		b, err := s.Find(row.ID)
		if err != nil {
			return nil, errors.Join(err, damaged)
		}
		found = append(found, b)
	}
	return found, nil
}
