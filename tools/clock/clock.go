// Package clock is the tool that tells the time, anywhere.
package clock

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // so that zones are known on machines that have no list of them

	"nod/edits"
	"nod/llm"
	"nod/tools"
)

//go:embed clock.md
var prose string

// zoneNames are the names of the IANA time zone database as Go ships it; the
// time package cannot list them. Behind them stand places that people ask for and that
// have no zone of their name, each behind its zone.
//
//go:embed zones.txt
var zoneNames string

const parameters = `{"type":"object","properties":{"zone":{"type":"string","maxLength":100,"description":"IANA time zone, city or offset; for example Europe/Berlin"}},"additionalProperties":false}`

// Keys are the keys of tools.clock.
type Keys struct{}

// Make makes the tool that tells the time.
func (Keys) Make(context.Context, tools.Host) (tools.Made, error) {
	return tools.One(telling(time.Now))
}

// telling makes it with a clock, in whose zone the time is told where a call names none.
func telling(now func() time.Time) tools.Tool {
	t := tools.New("clock", prose, parameters, func(_ context.Context, _ tools.Input, arg struct{ Zone string }) (llm.Result, error) {
		t := now()
		if strings.TrimSpace(arg.Zone) == "" {
			return llm.Result{Text: tell(t, "")}, nil
		}
		place, err := findZone(arg.Zone, t)
		if err != nil {
			return tools.Failed("%v", err), nil
		}
		return llm.Result{Text: tell(t.In(place), place.String())}, nil
	})
	t.ReadOnly = true
	return t
}

// tell writes a time so that nothing has to be worked out from it.
func tell(t time.Time, zone string) string {
	year, week := t.ISOWeek()
	abbreviation, _ := t.Zone()
	offset := "UTC" + t.Format("-07:00")
	zone = cmp.Or(zone, "the machine's")
	summer := ""
	if t.IsDST() {
		summer = ", daylight saving time"
	}
	if strings.ContainsAny(abbreviation, "+-") { // many zones have no letters of their own
		abbreviation = offset
	} else {
		abbreviation += ", " + offset
	}
	return fmt.Sprintf("%s\n%s\nzone: %s (%s%s)\nISO week %d-W%02d, day %d of the year",
		t.Format("Monday, 2 January 2006, 15:04:05"), t.Format(time.RFC3339), zone, abbreviation, summer, year, week, t.YearDay())
}

var offsetPattern = regexp.MustCompile(`^(?i:(?:utc|gmt)\s*)?([+\-−])(\d{1,2})(?::?(\d{2}))?$`)

// findZone understands a zone's whole name, an offset, or a city. Of several
// zones of that name any will do while they show the same time; otherwise it
// asks back.
func findZone(name string, at time.Time) (*time.Location, error) {
	name = strings.TrimSpace(name)
	if m := offsetPattern.FindStringSubmatch(name); m != nil {
		return fixedZone(m[1], m[2], m[3])
	}
	key := zoneKey(name)
	var matches []string
	for _, z := range zones() {
		switch {
		case z.key == key:
			return time.LoadLocation(z.name)
		case strings.HasSuffix(z.key, "/"+key):
			matches = append(matches, z.name)
		}
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("there is no time zone %q; %s", name, nearZones(key))
	}
	place, err := time.LoadLocation(matches[0])
	if err != nil {
		return nil, err
	}
	for _, m := range matches[1:] {
		other, err := time.LoadLocation(m)
		if err != nil {
			return nil, err
		}
		if at.In(other).Format("-0700") != at.In(place).Format("-0700") {
			return nil, fmt.Errorf("%q could be any of the zones %s; say which", name, strings.Join(matches, ", "))
		}
	}
	return place, nil
}

// zone is a name of the database, and the key by which it is found: its own, or a city's.
type zone struct {
	name, key string
	city      bool
}

// zones reads the names, the first time that one is looked up.
var zones = sync.OnceValue(func() []zone {
	var out []zone
	for name := range strings.Lines(zoneNames) {
		name, city, ok := strings.Cut(strings.TrimSpace(name), " ")
		out = append(out, zone{name, cmp.Or(city, zoneKey(name)), ok})
	}
	return out
})

var underscores = strings.NewReplacer(" ", "_", ".", "")

// zoneKey makes "New York" and "new_york" equal.
func zoneKey(name string) string { return underscores.Replace(strings.ToLower(name)) }

func fixedZone(sign, hours, minutes string) (*time.Location, error) {
	h, _ := strconv.Atoi(hours) // the pattern lets only digits through
	m, _ := strconv.Atoi(minutes)
	offset := h*3600 + m*60
	if sign != "+" {
		offset = -offset
	}
	if offset < -12*3600 || offset > 14*3600 || m > 59 {
		return nil, errors.New("there is no such offset; they go from -12:00 to +14:00")
	}
	return time.FixedZone(fmt.Sprintf("UTC%s%02d:%02d", strings.ReplaceAll(sign, "−", "-"), h, m), offset), nil
}

// nearZones names the zones whose names are most alike.
func nearZones(key string) string {
	far := map[string]int{}
	var near []string
	for _, z := range zones() {
		city := z.key[strings.LastIndexByte(z.key, '/')+1:]
		d := min(edits.Letters(key, city), edits.Letters(key, z.key))
		if strings.Contains(z.key, key) && len(key) > 2 {
			d = 0
		}
		if d <= 1+len(key)/4 && !z.city {
			far[z.name], near = d, append(near, z.name)
		}
	}
	if len(near) == 0 {
		return "use a name like Europe/Berlin, the largest city of the zone, or an offset like UTC+2"
	}
	slices.SortStableFunc(near, func(a, b string) int { return far[a] - far[b] })
	return "near are " + strings.Join(near[:min(len(near), 5)], ", ")
}
