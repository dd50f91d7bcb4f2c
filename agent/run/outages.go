package run

import (
	"time"

	"nod/agent/do"
)

// After so many failures of a model within soon, calls begin with the next model for rest.
const (
	failuresToRest = 2
	soon           = time.Minute
	rest           = time.Minute
)

// outage is what is known of a model that failed lately.
type outage struct {
	failed []time.Time // within soon, the last ones
	until  time.Time   // calls begin with the next model
}

// fails gives the outage after another failure.
func (o outage) fails(now time.Time) outage {
	var failed []time.Time
	for _, at := range append(o.failed, now) {
		if now.Sub(at) < soon {
			failed = append(failed, at)
		}
	}
	if len(failed) >= failuresToRest {
		o.until, failed = now.Add(rest), nil
	}
	return outage{failed, o.until}
}

// rests says whether calls begin with the next model.
func (d *driver) rests(model string) bool {
	o, _ := d.outages.Get(model)
	return d.Host.Now().Before(o.until)
}

// awake is a call for the first model of the fallback that did not fail lately. Where all
// did it is the call as it was.
func (d *driver) awake(act do.Call) do.Call {
	next, ok := act, true
	for ok && d.rests(next.Request.Model) {
		next, ok = d.Agent.Spare(d.log, next, "away")
	}
	if !ok {
		return act
	}
	return next
}

// spares makes a call again with the next model of the fallback, if the model is away.
// The shown part of the broken completion is taken back.
func (d *driver) spares(key string, act do.Call, why string) bool {
	if why == "" {
		return false
	}
	d.outages.Swap(act.Request.Model, func(was outage, _ bool) (outage, bool) { return was.fails(d.Host.Now()), true })
	next, ok := d.Agent.Spare(d.log, act, why)
	if ok {
		d.Log.Warn("a model is away; the next one is asked", "thread", d.thread.String(), "turn", act.Turn, "model", d.Agent.As(act.Request.Model).Model, "why", why, "next", d.Agent.As(next.Request.Model).Model)
		d.call(key, next)
	}
	return ok
}
