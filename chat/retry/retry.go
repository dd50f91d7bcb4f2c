// Package retry waits between attempts. A caller stops at once when its context ends,
// and sees the error that no waiting mends.
package retry

import (
	"context"
	"time"
)

// Sleep waits, unless ctx ends first: then it returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Policy says how something is tried again: after First, and then after pauses
// that double up to Longest.
type Policy struct {
	First, Longest time.Duration
	// Final says that no further attempt can succeed.
	Final func(error) bool
	// Failed is told of an attempt after which there will be another.
	Failed func(error)
}

// Do tries until it succeeds, fails for good, or ctx ends, and returns the last
// attempt's error.
func (p Policy) Do(ctx context.Context, try func(context.Context) error) error {
	for pause := p.First; ; pause = min(2*pause, p.Longest) {
		err := try(ctx)
		if err == nil || p.Final(err) || ctx.Err() != nil {
			return err
		}
		p.Failed(err)
		if Sleep(ctx, pause) != nil {
			return err
		}
	}
}
