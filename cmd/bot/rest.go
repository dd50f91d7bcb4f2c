package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// restEvery is how often it is looked whether the program has anything to do.
const restEvery = 5 * time.Second

// Go keeps for a while what was used once: after a start or a busy hour that is as
// much again as what is needed. A bot waits for most of its life, so it gives that
// back once it has come to rest.

// rest tells by what was allocated so far whether memory is worth giving back.
type rest struct {
	last  uint64 // when it was looked last
	given uint64 // when memory was given back last
}

const (
	restQuiet = 1 << 20 // is allocated between two looks by a program that has nothing to do
	restWorth = 4 << 20 // must have been allocated for it to be worth the while
)

func (r *rest) due(allocated uint64) bool {
	quiet := allocated-r.last < restQuiet
	r.last = allocated
	if !quiet || allocated-r.given < restWorth {
		return false
	}
	r.given = allocated
	return true
}

// giveBack gives memory back whenever the program has come to rest, until ctx is done.
func giveBack(ctx context.Context) {
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
			debug.FreeOSMemory()
		}
	}
}
