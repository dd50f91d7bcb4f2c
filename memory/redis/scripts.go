package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// The scripts, one for each step of a thread's life. What each takes and gives
// is said at its head.
var (
	putScript      = load("put")
	claimScript    = load("claim")
	commitScript   = load("commit")
	finishScript   = load("finish")
	handoffScript  = load("handoff")
	giveBackScript = load("giveback")
	beatScript     = load("beat")
	sweepScript    = load("sweep")
	touchScript    = load("touch")
	readScript     = load("read")
	countScript    = load("count")
	buryScript     = load("bury")

	allScripts = []*redis.Script{
		putScript, claimScript, commitScript, finishScript, handoffScript, giveBackScript,
		beatScript, sweepScript, touchScript, readScript, countScript, buryScript,
	}
)

func load(name string) *redis.Script {
	read := func(name string) string {
		src, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // it is compiled in
		}
		return string(src)
	}
	return redis.NewScript(read("prelude") + read(name))
}

// loadScripts makes the scripts known, so that the first calls are as quick as
// the later ones. A server that forgot them gets them again with the next call.
func (s *Store) loadScripts(ctx context.Context) error {
	return s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		for _, script := range allScripts { // not in a pipeline: Load reads the answer at once
			if err := script.Load(ctx, c).Err(); err != nil {
				return fmt.Errorf("load scripts: %w", err)
			}
		}
		return nil
	})
}

// run runs a script on a shard, again when the answer may have been lost.
func (s *Store) run(ctx context.Context, script *redis.Script, shard int, args ...any) (out any, err error) {
	err = s.do(ctx, func() error {
		out, err = script.Run(ctx, s.cmd, []string{s.keys.tag(shard)}, args...).Result()
		return err
	})
	return out, err
}

// do calls f a few times, as long as a server is away that may be back in a
// moment: a connection broke, it restarts, or another takes its place. f has to
// be harmless when it is repeated.
func (s *Store) do(ctx context.Context, f func() error) error {
	var err error
	for _, pause := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond} {
		if sleep(ctx, pause) != nil {
			return errors.Join(err, ctx.Err())
		}
		if err = f(); err == nil || !transient(err) {
			return err
		}
	}
	return err
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

// transient says whether an error may go away by itself within a moment.
func transient(err error) bool {
	if errors.Is(err, redis.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	for _, p := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "UNBLOCKED"} {
		if strings.HasPrefix(err.Error(), p) {
			return true
		}
	}
	return false
}

// reply reads a script's answer piece by piece. A piece that is missing or of
// another kind than expected is remembered as the error.
type reply struct {
	rest []any
	err  error
}

func newReply(v any, err error) *reply {
	r := &reply{err: err}
	if err == nil {
		list, ok := v.([]any)
		if !ok {
			r.err = fmt.Errorf("read reply: want a list, got %T", v)
		}
		r.rest = list
	}
	return r
}

func (r *reply) next() any {
	if len(r.rest) == 0 {
		if r.err == nil {
			r.err = errors.New("read reply: it ends early")
		}
		return nil
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *reply) int() int64 {
	n, ok := r.next().(int64)
	if !ok && r.err == nil {
		r.err = errors.New("read reply: want a number")
	}
	return n
}

func (r *reply) strings() []string {
	list, ok := r.next().([]any)
	if !ok && r.err == nil {
		r.err = errors.New("read reply: want a list")
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		text, ok := v.(string)
		if !ok && r.err == nil {
			r.err = errors.New("read reply: want a text")
		}
		out = append(out, text)
	}
	return out
}
