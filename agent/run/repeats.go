package run

import "nod/agent/do"

// mostRecords is how many actions in a row may record something and do nothing else. A rule
// whose entries don't change what it tests would record for ever.
const mostRecords = 500

// endless counts an action, and says whether it is a Record that came too often.
func (d *driver) endless(act do.Action) bool {
	if _, ok := act.(do.Record); !ok {
		d.records = 0
		return false
	}
	d.records++
	return d.records > mostRecords
}

// standStill ends a turn whose rules record for ever. Where no turn is to blame the
// thread waits for its next entry.
func (d *driver) standStill(act do.Action) error {
	if d.records == mostRecords+1 {
		d.Log.Error("the same was recorded again and again; the turn is given up", "thread", d.thread.String(), "entries", kinds(act))
	}
	if bodies := d.Agent.GiveUp(d.log); len(bodies) > 0 {
		d.records = 0
		return d.commit(bodies...)
	}
	return d.rest(do.Wait{})
}

// kinds names the kinds of the entries that an action records.
func kinds(act do.Action) (out []string) {
	rec, _ := act.(do.Record)
	for _, b := range rec.Bodies {
		out = append(out, b.Kind())
	}
	return out
}
