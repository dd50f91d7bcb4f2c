package sim

import (
	"slices"
	"time"
)

// beat reports a healthy process and its held threads to the server from time to time.
func (h *handle) beat() {
	if !h.well || h.closed {
		return
	}
	var ring []func()
	for _, r := range slices.Clone(h.runs) {
		k := r.Held.(*hold)
		switch {
		case k.t.holder != h || k.t.token != k.token:
			h.drop(r)
			ring = append(ring, r.Bell.Lose)
		case len(k.t.inbox) > 0:
			ring = append(ring, r.Bell.Mail)
		}
	}
	h.tell(func() { // one answer
		for _, bell := range ring {
			bell()
		}
		h.sure = h.well
	})
	if len(h.s.ready) > 0 {
		h.look()
	}
}

func (h *handle) beatSoon() {
	h.s.later(time.Duration(h.s.fraction()*float64(h.s.lease)/3), h.beat)
}

// ail notes that the process reaches the server no longer. Its runs lapse a lease
// after its last beat.
func (h *handle) ail() {
	if !h.well || h.closed {
		return
	}
	since := time.Duration(h.s.fraction() * float64(h.s.lease) / 3)
	h.well, h.sure, h.heard = false, false, h.s.now().Add(-since)
	h.sick++
	sick := h.sick
	h.s.later(h.s.lease-since, func() {
		if h.sick != sick || h.well {
			return
		}
		for _, t := range slices.Clone(h.s.threads) {
			if t.holder == h {
				h.s.lapse(t, t.token)
			}
		}
	})
}

// recover is when it reaches the server again.
func (h *handle) recover() {
	if h.well || h.closed {
		return
	}
	h.well = true
	h.beatSoon()
}
