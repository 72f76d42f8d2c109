package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// session is a connection with the statements prepared on it so far; there are
// few, as their text holds no values. One goroutine uses it at a time, with one
// query open at a time.
type session struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

func newSession(ctx context.Context, pool *sql.DB) (*session, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, statements: map[string]*sql.Stmt{}}, nil
}

func (s *session) prepare(text string) (*sql.Stmt, error) {
	if statement, ok := s.statements[text]; ok {
		return statement, nil
	}
	statement, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	s.statements[text] = statement
	return statement, nil
}

// exec runs a statement and returns how many rows it changed.
func (s *session) exec(text string, args ...any) (int64, error) {
	statement, err := s.prepare(text)
	if err != nil {
		return 0, err
	}
	result, err := statement.Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query runs a statement and calls each for every row.
func (s *session) query(text string, args []any, each func(*sql.Rows) error) error {
	statement, err := s.prepare(text)
	if err != nil {
		return err
	}
	rows, err := statement.Query(args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (s *session) close() error {
	errs := make([]error, 0, len(s.statements)+1)
	for _, statement := range s.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}
