package api

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"nod/chat/outbox"
)

// limits knows which routes share a bucket. Discord tells with every answer
// what is left of its bucket, and the bucket's name, by which it counts for
// each channel, guild or webhook
// (https://discord.com/developers/docs/topics/rate-limits).
type limits struct {
	mu     sync.Mutex
	bucket map[string]string // by route
}

// Global is how many calls a bot may make in a second, unless it was given more.
const Global = 50

// budget says what a bucket allows: all calls together a number, any other
// what Discord announces.
func budget(bucket string, global int, pace float64) outbox.Budget {
	if bucket == outbox.Everything {
		return outbox.Window(global, time.Duration(float64(time.Second)/pace), global/5)
	}
	return outbox.Budget{Announced: true}
}

// buckets names the budget that a call counts against.
func (l *limits) buckets(r Request) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := l.bucket[r.route()]
	if name == "" {
		name = r.route()
	}
	if len(r.IDs) > 0 {
		name += " " + r.IDs[0]
	}
	return []string{name}
}

// learn takes in what Discord says with an answer.
func (l *limits) learn(out *outbox.Outbox, r Request, h http.Header) {
	before := l.buckets(r)
	if name := h.Get("X-RateLimit-Bucket"); name != "" {
		l.mu.Lock()
		l.bucket[r.route()] = name
		l.mu.Unlock()
	}
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil {
		return
	}
	limit, _ := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	reset, _ := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64)
	said := outbox.Announced{Limit: limit, Remaining: left, Reset: seconds(reset)}
	names := l.buckets(r)
	out.Update(names[0], said)
	if before[0] != names[0] {
		out.Update(before[0], said) // calls that wait know it by that name
	}
}
