package redis

import (
	"context"
	"errors"
	"fmt"
)

// Viewer reads a store that other processes may be serving, and changes nothing
// in it. It is a [memory.Reader], a [memory.Catchup] and a [memory.Auditor], and
// reads files.
type Viewer struct {
	*link
	// Format is the format that the store has.
	Format int
}

// View connects to a store to read it. It refuses [memory.FormatError] what a
// later build wrote.
func View(ctx context.Context, url string, o Options) (*Viewer, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	v := &Viewer{link: a.link(o)}
	if v.Format, err = v.oldest(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("view redis store: %w", err), v.Close())
	}
	return v, nil
}

// Close ends the connections.
func (v *Viewer) Close() error { return v.cmd.Close() }
