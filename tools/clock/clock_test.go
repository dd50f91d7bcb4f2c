package clock

import (
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
)

func TestClock(t *testing.T) {
	summer := time.Date(2026, 7, 1, 12, 30, 5, 0, time.UTC)
	winter := time.Date(2026, 12, 31, 23, 30, 5, 0, time.UTC)
	tests := []struct {
		name, args string
		now        time.Time
		want       string // a part
		failed     bool
	}{
		{"no zone", `{}`, summer, "Wednesday, 1 July 2026, 12:30:05\n2026-07-01T12:30:05Z\nzone: the machine's (UTC, UTC+00:00)\nISO week 2026-W27, day 182 of the year", false},
		{"empty zone", `{"zone":" "}`, summer, "2026-07-01T12:30:05Z", false},
		{"name", `{"zone":"Europe/Berlin"}`, summer, "Wednesday, 1 July 2026, 14:30:05\n2026-07-01T14:30:05+02:00\nzone: Europe/Berlin (CEST, UTC+02:00, daylight saving time)", false},
		{"winter, next year", `{"zone":"Europe/Berlin"}`, winter, "Friday, 1 January 2027, 00:30:05\n2027-01-01T00:30:05+01:00\nzone: Europe/Berlin (CET, UTC+01:00)\nISO week 2026-W53, day 1 of the year", false},
		{"any case", `{"zone":"europe/berlin"}`, summer, "zone: Europe/Berlin", false},
		{"city", `{"zone":"Tokyo"}`, summer, "zone: Asia/Tokyo (JST, UTC+09:00)", false},
		{"two words", `{"zone":"new york"}`, summer, "zone: America/New_York", false},
		{"city without a zone", `{"zone":"San Francisco"}`, summer, "zone: America/Los_Angeles", false},
		{"city in a region", `{"zone":"Buenos Aires"}`, summer, "Buenos_Aires (UTC-03:00)", false},
		{"two zones, one time", `{"zone":"Eastern"}`, summer, "-04:00", false},
		{"two zones, two times", `{"zone":"West"}`, summer, "Australia/West, Brazil/West; say which", true},
		{"UTC", `{"zone":"utc"}`, summer, "zone: UTC", false},
		{"offset", `{"zone":"UTC+2"}`, summer, "T14:30:05+02:00\nzone: UTC+02:00 (UTC+02:00)", false},
		{"offset, not POSIX's sign", `{"zone":"GMT-5"}`, summer, "T07:30:05-05:00", false},
		{"offset with minutes", `{"zone":"+05:30"}`, summer, "T18:00:05+05:30", false},
		{"negative offset with minutes", `{"zone":"-0030"}`, summer, "T12:00:05-00:30\nzone: UTC-00:30", false},
		{"Etc keeps POSIX's sign", `{"zone":"Etc/GMT+5"}`, summer, "T07:30:05-05:00", false},
		{"offset too large", `{"zone":"+15"}`, summer, "from -12:00 to +14:00", true},
		{"minutes too large", `{"zone":"+01:75"}`, summer, "from -12:00 to +14:00", true},
		{"misspelt", `{"zone":"Europe/Berln"}`, summer, "near are Europe/Berlin", true},
		{"misspelt city", `{"zone":"Tokio"}`, summer, "Asia/Tokyo", true},
		{"part", `{"zone":"argent"}`, summer, "America/Argentina/", true},
		{"unknown", `{"zone":"Qqqqqqqqq"}`, summer, "use a name like", true},
		{"path", `{"zone":"../../../etc/passwd"}`, summer, "no time zone", true},
		{"local", `{"zone":"Local"}`, summer, "no time zone", true},
		{"long", `{"zone":"` + strings.Repeat("x", 100_000) + `"}`, summer, "at most 100 characters", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			box := tooltest.Box(t, telling(func() time.Time { return tt.now }))
			got, err := box.Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "clock", Args: tt.args})
			if err != nil {
				t.Fatal(err)
			}
			if got.Failed != tt.failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v, got:\n%s\nwant:\n%s", got.Failed, got.Text, tt.want)
			}
		})
	}
}

func TestZones(t *testing.T) {
	cities := map[string]string{}
	for _, z := range zones() {
		if z.city {
			cities[z.key] = z.name
		}
	}
	for _, z := range zones() {
		if _, err := time.LoadLocation(z.name); err != nil || zoneKey(z.key) != z.key {
			t.Errorf("%s: %s: %v", z.key, z.name, err)
		}
		city := z.key[strings.LastIndexByte(z.key, '/')+1:]
		if other, ok := cities[city]; ok && !z.city {
			t.Errorf("%s has a zone of its own, %s, and needs no %s", city, z.name, other)
		}
	}
}
