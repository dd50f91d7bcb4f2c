package fakediscord

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// rate is so many requests in a time, counted from the first of them.
type rate struct {
	name string
	n    int
	per  time.Duration
}

// perSecond is the limit of a bot over all routes:
// https://discord.com/developers/docs/topics/rate-limits#global-rate-limit
const perSecond = 50

// rateOf gives the limit of a route. Discord documents none of them but for
// the headers, so these are the customary ones; routes of the same name share
// a bucket.
func rateOf(route string) rate {
	switch route {
	case "POST /channels/{channel}/messages":
		return rate{"messages.create", 5, 5 * time.Second}
	case "PATCH /channels/{channel}/messages/{message}":
		return rate{"messages.edit", 5, 5 * time.Second}
	case "DELETE /channels/{channel}/messages/{message}":
		return rate{"messages.delete", 5, time.Second}
	case "PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me",
		"DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me",
		"DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/{user}":
		return rate{"reactions", 1, 250 * time.Millisecond}
	case "POST /channels/{channel}/typing":
		return rate{"typing", 5, 5 * time.Second}
	}
	if strings.Contains(route, "/webhooks/") {
		return rate{"webhooks", 5, 2 * time.Second}
	}
	return rate{route, 50, time.Second}
}

// bucket counts the requests of a window.
type bucket struct {
	from time.Time
	used int
}

// take counts a request, or says how long to wait.
func (b *bucket) take(now time.Time, n int, per time.Duration) (left int, reset time.Duration, ok bool) {
	if now.Sub(b.from) >= per {
		b.from, b.used = now, 0
	}
	reset = per - now.Sub(b.from)
	if b.used >= n {
		return 0, reset, false
	}
	b.used++
	return n - b.used, reset, true
}

// limit counts a request against its bucket and the global limit, and sets the
// headers of the answer. The lock is held.
func (s *Server) limit(q *request) *apiError {
	if s.options.NoLimits || q.route == callbackRoute {
		return nil // the first answer to an interaction has no limit that Discord tells
	}
	now := s.now()
	if !q.tokened() {
		if _, wait, ok := s.bucket("global").take(now, perSecond, s.scaled(time.Second)); !ok {
			s.limited++
			return tooMany(wait, true)
		}
	}
	r := rateOf(q.route)
	major := q.PathValue("channel") + q.PathValue("guild") + q.PathValue("token")
	left, reset, ok := s.bucket(r.name+" "+major).take(now, r.n, s.scaled(r.per))
	h := q.headers
	h.Set("X-RateLimit-Limit", strconv.Itoa(r.n))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
	h.Set("X-RateLimit-Reset", strconv.FormatFloat(float64(now.Add(reset).UnixMilli())/1000, 'f', 3, 64))
	h.Set("X-RateLimit-Reset-After", seconds(reset))
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(r.name))
	h.Set("X-RateLimit-Bucket", fmt.Sprintf("%016x", sum.Sum64()))
	if !ok {
		s.limited++
		return tooMany(reset, false)
	}
	return nil
}

func (s *Server) bucket(key string) *bucket {
	if s.buckets[key] == nil {
		s.buckets[key] = &bucket{}
	}
	return s.buckets[key]
}

func (s *Server) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.options.LimitScale)
}

// seconds rounds up to milliseconds, so that who waits so long waited enough.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(math.Ceil(d.Seconds()*1000)/1000, 'f', 3, 64)
}

// tooMany is a 429:
// https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit
func tooMany(wait time.Duration, global bool) *apiError {
	after, _ := strconv.ParseFloat(seconds(wait), 64)
	e := &apiError{status: http.StatusTooManyRequests, message: "You are being rate limited.", extra: object{
		"retry_after": after, "global": global,
	}, headers: map[string]string{
		"Retry-After": strconv.Itoa(int(math.Ceil(wait.Seconds()))), "X-RateLimit-Scope": "user",
	}}
	if global {
		e.headers["X-RateLimit-Global"], e.headers["X-RateLimit-Scope"] = "true", "global"
	}
	return e
}

// RateLimited tells how many requests were over a limit. Injected 429s don't
// count.
func (s *Server) RateLimited() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limited
}
