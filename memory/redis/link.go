package redis

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/memory"
)

// link is the way to the servers, with rules for retries.
type link struct {
	log  *slog.Logger
	keys keys
	cmd  redis.UniversalClient // for calls that answer at once

	// trouble is called with a shard whose server was away.
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

// run runs a script on a shard, and again if the answer may have been lost.
func (l *link) run(ctx context.Context, script *redis.Script, shard int, args ...any) (out any, err error) {
	err = l.retry(ctx, shard, briefly, func() error {
		out, err = script.Run(ctx, l.cmd, []string{l.keys.tag(shard)}, args...).Result()
		return err
	})
	return out, err
}

// pauses stand before the attempts of a call; the last one stands before all later ones.
var pauses = []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond}

// How often a call is tried.
const (
	once    = 1           // it must not happen twice
	briefly = 4           // its caller has something better to do than to wait
	forever = math.MaxInt // only its context ends it
)

// retry calls f again while a server is away for a moment: a connection broke, the
// server restarts, or another one takes its place. Repeating f must be harmless.
func (l *link) retry(ctx context.Context, shard, most int, f func() error) (err error) {
	for n := range most {
		if sleep(ctx, pauses[min(n, len(pauses)-1)]) != nil {
			return errors.Join(err, ctx.Err())
		}
		err = l.withFormat(ctx, shard, f)
		switch {
		case errors.Is(err, redis.ErrClosed):
			return errClosed
		case err == nil || !isTransient(err):
			return err
		}
		l.noteTrouble(ctx, shard, err)
	}
	return err
}

// withFormat calls f, and again if the shard has no format any more: its server lost
// everything.
func (l *link) withFormat(ctx context.Context, shard int, f func() error) error {
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

// noteTrouble notes that a server was away. On a cluster, another server may have its
// slots now.
func (l *link) noteTrouble(ctx context.Context, shard int, err error) {
	if !isBroken(err) {
		return
	}
	reload(ctx, l.cmd)
	if l.trouble != nil {
		l.trouble(shard)
	}
}

// reload asks a cluster where its slots are.
func reload(ctx context.Context, c redis.UniversalClient) {
	if c, ok := c.(*redis.ClusterClient); ok {
		c.ReloadState(ctx)
	}
}

// formatIn reads the shard's format from a script's error.
func formatIn(err error) (int, bool) {
	if err == nil {
		return 0, false
	}
	_, number, ok := strings.Cut(err.Error(), otherFormat)
	n, bad := strconv.Atoi(strings.TrimSpace(number))
	return n, ok && bad == nil
}

// sleep waits, or returns early with the error of ctx.
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

// isBroken says whether a connection broke, or there was none.
func isBroken(err error) bool {
	if errors.Is(err, redis.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, ok := errors.AsType[net.Error](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// passing are errors of a server in transition.
var passing = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "UNBLOCKED", "MOVED", "ASK ",
	"NOREPLICAS", "MISCONF", "BUSY ", "ERR max number of clients", "all sentinels",
}

// isTransient says whether an error may pass within a moment.
func isTransient(err error) bool {
	if isBroken(err) {
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

// slotMoves is a script's error in a slot that is being moved.
const slotMoves = "attempted to access a non local key"

// inner is the server's own error. Before Redis 7 the place in the script and a dash
// stand before it.
func inner(err error) string {
	text := err.Error()
	if strings.HasPrefix(text, "ERR Error running script") {
		if _, said, ok := strings.Cut(text, ": -"); ok {
			return said
		}
	}
	return text
}

// isDamaged says whether a script stumbled over the stored data, and not over the
// server's state.
func isDamaged(err error) bool {
	text := inner(err)
	return strings.HasPrefix(text, "WRONGTYPE") || errors.Is(err, errName) ||
		strings.HasPrefix(text, "ERR ") && strings.Contains(text, "user_script") && !strings.Contains(text, notExecuted) && !strings.Contains(text, slotMoves)
}

// eachMaster calls f for every server that takes writes.
func (l *link) eachMaster(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	if c, ok := l.cmd.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, f)
	}
	c, _ := l.cmd.(*redis.Client)
	return f(ctx, c)
}

// master returns the server that takes a shard's writes.
func (l *link) master(ctx context.Context, shard int) (*redis.Client, error) {
	if c, ok := l.cmd.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, l.keys.tag(shard))
	}
	c, _ := l.cmd.(*redis.Client)
	return c, nil
}

// isAway says whether the cause of an error is a server that may be back in a moment.
func isAway(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if isTransient(err) || err == errFew { //nolint:errorlint // the loop unwraps
			return true
		}
	}
	return false
}
