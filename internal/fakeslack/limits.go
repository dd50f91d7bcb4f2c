package fakeslack

import (
	"math"
	"time"
)

// limit is a published rate. Calls of one method count together, or per channel if
// channel names that argument. burst calls may come at once before the rate applies; 0
// means a window of a minute that takes rate calls, in any order.
type limit struct {
	rate    int // per minute
	burst   int
	channel string
}

// The tiers (https://docs.slack.dev/apis/web-api/rate-limits). Posting is
// limited to about one message a second in a channel, "short bursts" allowed;
// what a burst is, Slack doesn't say.
var (
	tier2    = limit{rate: 20}
	tier3    = limit{rate: 50}
	tier4    = limit{rate: 100}
	special  = limit{rate: 600}
	posts    = limit{rate: 60, burst: 5, channel: "channel"}
	statuses = limit{rate: 60, channel: "channel_id"}
)

// gate counts calls against the limits.
type gate struct {
	off     bool
	scale   float64
	windows map[string][]time.Time
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newGate(o Options) gate {
	return gate{off: o.NoLimits, scale: o.LimitScale, windows: map[string][]time.Time{}, buckets: map[string]*bucket{}}
}

// admit says whether the call is within its limit, and for how long to wait
// where it is not. A refused call does not count.
func (g *gate) admit(s *Server, c *call, l limit) (time.Duration, bool) {
	if g.off {
		return 0, true
	}
	key := c.method
	if l.channel != "" {
		key += " " + c.args[l.channel]
	}
	if l.burst > 0 {
		return g.spend(key, l, s.now())
	}
	return g.count(key, l, s.now())
}

func (g *gate) count(key string, l limit, now time.Time) (time.Duration, bool) {
	span := time.Duration(float64(time.Minute) / g.scale)
	calls := g.windows[key]
	for len(calls) > 0 && now.Sub(calls[0]) >= span {
		calls = calls[1:]
	}
	if len(calls) >= l.rate {
		g.windows[key] = calls
		return span - now.Sub(calls[0]), false
	}
	g.windows[key] = append(calls, now)
	return 0, true
}

func (g *gate) spend(key string, l limit, now time.Time) (time.Duration, bool) {
	perSecond := float64(l.rate) / 60 * g.scale
	b := g.buckets[key]
	if b == nil {
		b = &bucket{tokens: float64(l.burst), at: now}
		g.buckets[key] = b
	}
	b.tokens = math.Min(float64(l.burst), b.tokens+now.Sub(b.at).Seconds()*perSecond)
	b.at = now
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / perSecond * float64(time.Second)), false
	}
	b.tokens--
	return 0, true
}
