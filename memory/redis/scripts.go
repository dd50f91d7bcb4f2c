package redis

import (
	"embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// The scripts, one for each step of a thread's life. Each names its arguments and its
// answer at its head.
var (
	putScript      = load("put", guard, "know", "files", "expire")
	referScript    = load("refer", guard)
	claimScript    = load("claim", guard)
	commitScript   = load("commit", guard, "know", "files", "effects")
	restoreScript  = load("restore", guard, "know", "files", "effects")
	rewriteScript  = load("rewrite", guard)
	handoffScript  = load("handoff", guard)
	giveBackScript = load("giveback", guard, "each")
	beatScript     = load("beat", guard, "each")
	goneScript     = load("gone", guard, "each", "handed")
	endedScript    = load("ended", guard, "each", "handed")
	silentScript   = load("silent", guard)
	sweepScript    = load("sweep", guard, "each", "handed", "files", "expire")
	entombScript   = load("entomb", guard)
	mendScript     = load("mend", guard, "each")
	tidyScript     = load("tidy", guard)
	countScript    = load("count", guard)
	swapScript     = load("swap", guard)
	blobScript     = load("blob", guard, "files", "expire")
	dropScript     = load("drop", guard, "files")

	// These need no guard: they only read.
	readScript  = load("read", "")
	probeScript = load("probe", "")
	pingScript  = load("ping", "")
)

// guard keeps a script from a shard of another format: a later build wrote it, or its
// server lost everything.
var guard = "local format = redis.call('GET', tag .. ':format')\n" +
	"if format ~= '" + strconv.Itoa(format) + "' then return redis.error_reply('" + otherFormat + "' .. (format or '0')) end\n"

const otherFormat = "FORMAT "

func source(name string) string {
	src, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // it is compiled in
	}
	return string(src)
}

// load puts a script together: the prelude, the guard, shared parts, and its own text.
func load(name, guard string, parts ...string) *redis.Script {
	text := source("prelude") + guard
	for _, p := range append(parts, name) {
		text += source(p)
	}
	return redis.NewScript(text)
}

// reply reads a script's answer piece by piece. A missing or unexpected piece becomes
// the error.
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

// read gives the next piece, which has to be of a type.
func read[T any](r *reply, want string) T {
	v, ok := r.next().(T)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("read reply: want %s", want)
	}
	return v
}

func (r *reply) int() int64   { return read[int64](r, "a number") }
func (r *reply) text() string { return read[string](r, "a text") }

func (r *reply) strings() []string {
	list := &reply{rest: read[[]any](r, "a list"), err: r.err}
	out := make([]string, 0, len(list.rest))
	for len(list.rest) > 0 {
		out = append(out, list.text())
	}
	r.err = list.err
	return out
}
