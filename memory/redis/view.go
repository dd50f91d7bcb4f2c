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
}

// View connects to a store to read it. One of another format is a
// [memory.FormatError].
func View(ctx context.Context, url string, o Options) (*Viewer, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	v := &Viewer{a.link(o)}
	if err := v.checkFormats(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("view redis store: %w", err), v.Close())
	}
	return v, nil
}

// Close ends the connections.
func (v *Viewer) Close() error { return v.cmd.Close() }
