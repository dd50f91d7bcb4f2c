package run

import (
	"sync"
	"time"

	"nod/agent"
)

// After so many failures of a model within soon, calls begin with the next model for rest.
const (
	failuresToRest = 2
	soon           = time.Minute
	rest           = time.Minute
)

// outages notes which models failed lately, for all threads of the process.
type outages struct {
	mu sync.Mutex
	of map[string]outage
}

// outage is what is known of a model.
type outage struct {
	failed []time.Time // within soon, the last ones
	until  time.Time   // calls begin with the next model
}

// note notes a failure.
func (o *outages) note(model string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[string]outage{}
	}
	was := o.of[model]
	var failed []time.Time
	for _, at := range append(was.failed, now) {
		if now.Sub(at) < soon {
			failed = append(failed, at)
		}
	}
	if len(failed) >= failuresToRest {
		was.until, failed = now.Add(rest), nil
	}
	o.of[model] = outage{failed, was.until}
}

// rests says whether calls begin with the next model.
func (o *outages) rests(model string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return now.Before(o.of[model].until)
}

// awake is a call for the first model of the fallback that did not fail lately. Where all
// did it is the call as it was.
func (d *driver) awake(act agent.Call) agent.Call {
	next, ok := act, true
	for ok && d.outages.rests(next.Request.Model, d.Host.Now()) {
		next, ok = d.Agent.Spare(d.log, next, "away")
	}
	if !ok {
		return act
	}
	return next
}

// spares makes a call again with the next model of the fallback, if the model is away.
// The shown part of the broken completion is taken back.
func (d *driver) spares(key string, act agent.Call, why string) bool {
	if why == "" {
		return false
	}
	d.outages.note(act.Request.Model, d.Host.Now())
	next, ok := d.Agent.Spare(d.log, act, why)
	if ok {
		d.Log.Warn("a model is away; the next one is asked", "thread", d.thread.String(), "turn", act.Turn, "model", d.Agent.As(act.Request.Model).Model, "why", why, "next", d.Agent.As(next.Request.Model).Model)
		d.call(key, next)
	}
	return ok
}
