package main

import (
	"context"
	"errors"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// restEvery is how often it is looked whether the program has anything to do.
const restEvery = time.Second

// Go keeps for a while what was used once, and the system what was read of the
// program's file: after a start or a busy hour that is twice as much again as what is
// needed. A bot waits for most of its life, so it gives that back once it has come to
// rest.

// rest tells by what was allocated so far whether memory is worth giving back.
type rest struct {
	last  uint64 // when it was looked last
	given uint64 // when memory was given back last
	quiet int    // looks since which there is nothing to do
}

const (
	restQuiet = 256 << 10 // is allocated between two looks by a program that has nothing to do
	restWorth = 16 << 20  // allocated since the last time is worth giving back at once
	restLong  = 30        // quiet looks are a rest for which less is worth the while, too
)

func (r *rest) due(allocated uint64) bool {
	busy := allocated-r.last >= restQuiet
	r.last = allocated
	if busy {
		r.quiet = 0
		return false
	}
	r.quiet++
	since := allocated - r.given
	if r.given > 0 && since < restWorth && (since < restQuiet || r.quiet < restLong) {
		return false
	}
	r.given = allocated
	return true
}

// rester is what a store may be besides: it gives back memory that it can do without
// while it has nothing to do.
type rester interface {
	Rest(ctx context.Context) error
}

// giveBack gives memory back whenever the program has come to rest, until ctx is done.
func (p *program) giveBack(ctx context.Context) {
	var r rest
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for tick := time.NewTicker(restEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		if metrics.Read(allocated); r.due(allocated[0].Value.Uint64()) {
			kib, err := p.rest(ctx)
			if err != nil {
				p.log.Debug("give memory back", "error", err)
			}
			p.log.Debug("memory given back", "file_kib", kib)
		}
	}
}

// rest returns how many KiB of the program's file went.
func (p *program) rest(ctx context.Context) (kib int, err error) {
	if s, ok := p.lists.(rester); ok {
		err = s.Rest(ctx)
	}
	debug.FreeOSMemory()
	kib, dropped := dropPages()
	return kib, errors.Join(err, dropped)
}
