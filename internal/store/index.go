package store

import (
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"headroom/internal/lab"
	"headroom/internal/safepath"
)

// indexSchema is the whole schema. There are no migrations: the index can be made again from the bundles in
// moments, so an index of another version is deleted.
//
//go:embed index.sql
var indexSchema string

// indexVersion is raised with every change of index.sql.
const indexVersion = 4

// Row is a run as the index knows it: what a list shows.
type Row struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Suite string `json:"suite"`
	// Experiment says what the run varies: "sweep of queue:scheduler". Empty for one that varies nothing.
	Experiment string `json:"experiment,omitempty"`
	// Pair is the same in runs that belong together: the two sides of a live comparison, the stages of one measurement.
	// Stage is what such a run is one of; empty for one that is none.
	Pair    string    `json:"pair,omitempty"`
	Stage   string    `json:"stage,omitempty"`
	Target  string    `json:"target"`
	Place   string    `json:"place"`
	Created time.Time `json:"created"`
	// Added is when the run came into the store: later than Created for one that was imported.
	Added       time.Time  `json:"-"`
	Status      lab.Status `json:"status"`
	Source      lab.Source `json:"source"`
	Format      string     `json:"format,omitempty"`
	Cells       int        `json:"cells"`
	Repetitions int        `json:"repetitions"`
}

// List returns the runs, the one that was added last first. The index is brought up to date from the bundles first: a
// bundle whose run.json or number of segments has changed is read again, one that is gone is dropped. A bundle that
// can't be read does not hide the others: it is named in the error, beside the rows of the rest.
func (s *Store) List() ([]Row, error) {
	ids, err := s.ids()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	rows, damaged, err := s.readIndex(ids, s.openIndex)
	if err != nil { // a device that is full, a folder that can't be written to: the runs can still be shown
		rows, damaged, err = s.readIndex(ids, openInMemory)
	}
	for i := range rows {
		if rows[i].Status == lab.Running && !safepath.Locked(filepath.Join(s.runs(), rows[i].ID, activeName)) {
			rows[i].Status = lab.Interrupted
		}
	}
	return rows, errors.Join(damaged, err)
}

// readIndex brings an index up to date and reads it. Damaged are the runs that could not be read.
func (s *Store) readIndex(ids []string, open func() (*sql.DB, error)) (rows []Row, damaged, err error) {
	db, err := open()
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	if damaged, err = s.refresh(db, ids); err != nil {
		return nil, nil, err
	}
	rows, err = query(db)
	return rows, damaged, err
}

// openInMemory opens an index that is of use once.
func openInMemory() (*sql.DB, error) { return openDatabase(":memory:") }

// openIndex opens the index beside the runs. In a store that others can change it could be a link, through which root
// would write: there the index is made anew each time, in memory.
func (s *Store) openIndex() (*sql.DB, error) {
	if Trust(s.dir) != nil {
		return openInMemory()
	}
	name := filepath.Join(s.dir, "index.sqlite")
	db, err := openDatabase(name)
	if err == nil {
		return db, nil
	}
	// Whatever is wrong with it, the bundles are the truth and a new one is quickly made.
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(name + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if db, err = openDatabase(name); err != nil {
		return nil, &lab.Error{What: "can't make the index " + name, Err: err}
	}
	return db, nil
}

func openDatabase(name string) (*sql.DB, error) {
	// An index can be lost without harm, so it is not flushed; two processes wait for each other.
	db, err := sql.Open("sqlite",
		"file:"+name+"?_pragma=busy_timeout(5000)&_pragma=synchronous(off)&_pragma=journal_mode(memory)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	switch version {
	case indexVersion:
		return db, nil
	case 0:
		_, err := db.Exec(indexSchema + fmt.Sprintf("; PRAGMA user_version = %d", indexVersion))
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return db, nil
	default:
		return nil, errors.Join(fmt.Errorf("index of version %d", version), db.Close())
	}
}

// refresh makes the index agree with the bundles, in one transaction. Damaged are the runs that could not be read.
func (s *Store) refresh(db *sql.DB, ids []string) (damaged, err error) {
	known, err := stamps(db)
	if err != nil {
		return nil, err
	}
	tx, err := db.Begin()
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	var unread []error
	for _, id := range ids {
		stamp, err := stampOf(filepath.Join(s.runs(), id))
		if err == nil && known[id] == stamp {
			delete(known, id)
			continue
		}
		var row Row
		if err == nil {
			row, err = s.read(id)
		}
		if err != nil {
			unread = append(unread, err)
			continue
		}
		if err := insert(tx, row, stamp); err != nil {
			return nil, err
		}
		delete(known, id)
	}
	for id := range known {
		if _, err := tx.Exec("DELETE FROM runs WHERE id = ?", id); err != nil {
			return nil, err
		}
	}
	return errors.Join(unread...), tx.Commit()
}

func stamps(db *sql.DB) (map[string]string, error) {
	rows, err := db.Query("SELECT id, stamp FROM runs")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]string{}
	for rows.Next() {
		var id, stamp string
		if err := rows.Scan(&id, &stamp); err != nil {
			return nil, err
		}
		known[id] = stamp
	}
	return known, rows.Err()
}

// stampOf changes whenever a bundle does: every change ends in a rename in one of the two folders.
func stampOf(dir string) (string, error) {
	head, err := openHead(filepath.Join(dir, headerName)) // of one that can't be read the index must not hide it
	if err != nil {
		return "", unreadableRun(dir, err)
	}
	header, err := head.Stat()
	if err := errors.Join(err, head.Close()); err != nil {
		return "", err
	}
	records, err := os.Stat(filepath.Join(dir, "repetitions"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d %d", header.ModTime().UnixNano(), header.Size(), records.ModTime().UnixNano()), nil
}

// read makes a row out of a bundle.
func (s *Store) read(id string) (Row, error) {
	b, err := s.bundle(id)
	if err != nil {
		return Row{}, err
	}
	r := b.Run
	row := Row{ID: id, Label: r.Label, Suite: r.Suite, Pair: r.Pair, Created: r.Created, Added: b.added(),
		Status: r.Status, Source: r.Source, Format: r.Format, Cells: len(r.Cells)}
	if r.Experiment != nil {
		row.Experiment = r.Experiment.Title()
	}
	if r.NFS != nil && len(r.Arms) > 0 {
		row.Stage = r.Arms[0].Levels[lab.StageLevel]
	}
	if len(r.Targets) > 0 {
		row.Target, row.Place = r.Targets[0].Target, r.Targets[0].Place.Path
	}
	row.Repetitions, err = b.countRepetitions()
	return row, err
}

func insert(tx *sql.Tx, r Row, stamp string) error {
	_, err := tx.Exec(`INSERT OR REPLACE INTO runs
		(id, stamp, label, suite, experiment, pair, stage, target, place, created, added, status, source, format,
		cells, repetitions)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, stamp, r.Label, r.Suite, r.Experiment, r.Pair, r.Stage, r.Target, r.Place, r.Created.UnixNano(),
		r.Added.UnixNano(), r.Status, r.Source, r.Format, r.Cells, r.Repetitions)
	return err
}

func query(db *sql.DB) ([]Row, error) {
	rows, err := db.Query(`SELECT id, label, suite, experiment, pair, stage, target, place, created, added, status,
		source, format, cells, repetitions FROM runs ORDER BY added DESC, created DESC, id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Row
	for rows.Next() {
		var r Row
		var created, added int64
		if err := rows.Scan(&r.ID, &r.Label, &r.Suite, &r.Experiment, &r.Pair, &r.Stage, &r.Target, &r.Place,
			&created, &added, &r.Status, &r.Source, &r.Format, &r.Cells, &r.Repetitions); err != nil {
			return nil, err
		}
		r.Created, r.Added = time.Unix(0, created), time.Unix(0, added)
		list = append(list, r)
	}
	return list, rows.Err()
}
