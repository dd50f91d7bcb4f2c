package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/memory"
)

// link is the way to the servers, with a rule for what is tried again.
type link struct {
	log  *slog.Logger
	keys keys
	cmd  redis.UniversalClient // for what is answered at once

	// trouble hears of a shard whose server was away.
	trouble func(shard int)
}

func (a address) link(o Options) *link {
	l := &link{log: o.Logger, keys: keys{prefix: o.Prefix}, cmd: a.client(o)}
	if l.log == nil {
		l.log = slog.Default()
	}
	if l.keys.prefix == "" {
		l.keys.prefix = "nod"
	}
	return l
}

// run runs a script on a shard, again when the answer may have been lost.
func (l *link) run(ctx context.Context, script *redis.Script, shard int, args ...any) (out any, err error) {
	err = l.do(ctx, shard, fewTimes, func() error {
		out, err = script.Run(ctx, l.cmd, []string{l.keys.tag(shard)}, args...).Result()
		return err
	})
	return out, err
}

// patience says how long to wait before a call is made for the nth time; done
// when it is not to be made again.
type patience func(n int) (pause time.Duration, done bool)

var pauses = []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond}

// fewTimes is for calls whose caller has something better to do than to wait.
func fewTimes(n int) (time.Duration, bool) {
	if n >= len(pauses) {
		return 0, true
	}
	return pauses[n], false
}

// asLongAsWanted is for calls that only their context ends.
func asLongAsWanted(n int) (time.Duration, bool) {
	return pauses[min(n, len(pauses)-1)], false
}

// once is for calls that must not be repeated.
func once(n int) (time.Duration, bool) { return 0, n > 0 }

// do calls f again as long as a server is away that may be back in a moment: a
// connection broke, it restarts, or another takes its place. f has to be
// harmless when it is repeated.
func (l *link) do(ctx context.Context, shard int, patient patience, f func() error) error {
	var err error
	for n := 0; ; n++ {
		pause, done := patient(n)
		if done {
			return err
		}
		if sleep(ctx, pause) != nil {
			return errors.Join(err, ctx.Err())
		}
		err = l.inFormat(ctx, shard, f)
		switch {
		case errors.Is(err, redis.ErrClosed):
			return errClosed
		case err == nil || !transient(err):
			return err
		}
		l.noteTrouble(ctx, shard, err)
	}
}

// inFormat calls f, and once more where a shard has no format any more: its server
// lost everything.
func (l *link) inFormat(ctx context.Context, shard int, f func() error) error {
	err := f()
	have, other := formatIn(err)
	switch {
	case !other:
		return err
	case have > 0:
		return memory.FormatError{Have: have, Reads: format}
	}
	if err := l.begin(ctx, shard); err != nil {
		return err
	}
	return f()
}

// noteTrouble notes that a server was away. On a cluster another may have its
// slots now, of which a dead one tells nobody.
func (l *link) noteTrouble(ctx context.Context, shard int, err error) {
	if !broken(err) {
		return
	}
	if c, ok := l.cmd.(*redis.ClusterClient); ok {
		c.ReloadState(ctx)
	}
	if l.trouble != nil {
		l.trouble(shard)
	}
}

// formatIn says which format a shard is of, where that was a script's error.
func formatIn(err error) (int, bool) {
	if err == nil {
		return 0, false
	}
	_, number, ok := strings.Cut(err.Error(), otherFormat)
	n, bad := strconv.Atoi(strings.TrimSpace(number))
	return n, ok && bad == nil
}

// sleep waits, or returns the error of ctx when that is done before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// broken says whether a connection broke, or there was none.
func broken(err error) bool {
	if errors.Is(err, redis.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, ok := errors.AsType[net.Error](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// passing are the errors of a server that is not what it should be for a moment.
var passing = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "UNBLOCKED", "MOVED", "ASK ",
	"NOREPLICAS", "MISCONF", "BUSY ", "ERR max number of clients", "all sentinels",
}

// transient says whether an error may go away by itself within a moment.
func transient(err error) bool {
	if broken(err) {
		return true
	}
	if errors.Is(err, errReplicas) {
		return false
	}
	text := strings.TrimPrefix(inner(err), "redis: ")
	for _, p := range passing {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return strings.Contains(text, slotMoves)
}

// slotMoves is what a script says that reads from a slot which is being moved.
const slotMoves = "attempted to access a non local key"

// inner is what a server says. Before Redis 7 it stands behind the place in the
// script, and a dash.
func inner(err error) string {
	text := err.Error()
	if strings.HasPrefix(text, "ERR Error running script") {
		if _, said, ok := strings.Cut(text, ": -"); ok {
			return said
		}
	}
	return text
}

// damaged says whether what the server has is not what it should be, as opposed
// to that it can't answer now, or may not: then a script stumbled.
func damaged(err error) bool {
	text := inner(err)
	return strings.HasPrefix(text, "WRONGTYPE") || errors.Is(err, errName) ||
		strings.HasPrefix(text, "ERR ") && strings.Contains(text, "user_script") && !strings.Contains(text, notExecuted) && !strings.Contains(text, slotMoves)
}

// eachMaster calls f for every server that is written to.
func (l *link) eachMaster(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	switch c := l.cmd.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *redis.Client:
		return f(ctx, c)
	default:
		return fmt.Errorf("use client of type %T", c)
	}
}

// master gives the server that a shard is written to.
func (l *link) master(ctx context.Context, shard int) (*redis.Client, error) {
	switch c := l.cmd.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, l.keys.tag(shard))
	case *redis.Client:
		return c, nil
	default:
		return nil, fmt.Errorf("use client of type %T", c)
	}
}

// away says whether an error, however it is described, comes of a server that
// may be there in a moment.
func away(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if transient(err) || err == errFew { //nolint:errorlint // the loop unwraps
			return true
		}
	}
	return false
}
