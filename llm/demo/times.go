package demo

import (
	"regexp"
	"strings"
)

var (
	askTime = regexp.MustCompile(`(?i)\b(what('s| is)? (the )?(current )?(time|date|day)\b( is it| is today)?|(the |current )time\b|time is it|what day is (it|today)|today's date|time in\b)( (right )?now| today)?`)
	place   = regexp.MustCompile(`(?i)^\s*(?:is it\s+)?(?:right now\s+|now\s+)?(?:in\s+)([^?.!,;\n]+)`)
	also    = regexp.MustCompile(`(?i)^\s*(?:,|and|or)\s+(?:in\s+)?([^?.!,;\n]+)`)
	inPlace = regexp.MustCompile(`(?i)\s+in$`)
)

// zones are places that people ask about whose zone is named for them or for
// another place.
var zones = map[string]string{
	"utc": "UTC", "gmt": "UTC", "tokyo": "Asia/Tokyo", "japan": "Asia/Tokyo", "london": "Europe/London", "paris": "Europe/Paris",
	"berlin": "Europe/Berlin", "germany": "Europe/Berlin", "munich": "Europe/Berlin", "vienna": "Europe/Vienna", "zurich": "Europe/Zurich",
	"madrid": "Europe/Madrid", "rome": "Europe/Rome", "amsterdam": "Europe/Amsterdam", "stockholm": "Europe/Stockholm", "kyiv": "Europe/Kyiv",
	"istanbul": "Europe/Istanbul", "moscow": "Europe/Moscow", "dubai": "Asia/Dubai", "delhi": "Asia/Kolkata", "mumbai": "Asia/Kolkata",
	"india": "Asia/Kolkata", "singapore": "Asia/Singapore", "hong kong": "Asia/Hong_Kong", "shanghai": "Asia/Shanghai", "beijing": "Asia/Shanghai",
	"china": "Asia/Shanghai", "seoul": "Asia/Seoul", "sydney": "Australia/Sydney", "auckland": "Pacific/Auckland", "new york": "America/New_York",
	"boston": "America/New_York", "chicago": "America/Chicago", "denver": "America/Denver", "los angeles": "America/Los_Angeles",
	"san francisco": "America/Los_Angeles", "seattle": "America/Los_Angeles", "toronto": "America/Toronto", "mexico city": "America/Mexico_City",
	"sao paulo": "America/Sao_Paulo", "são paulo": "America/Sao_Paulo", "buenos aires": "America/Argentina/Buenos_Aires", "cairo": "Africa/Cairo",
	"lagos": "Africa/Lagos", "nairobi": "Africa/Nairobi", "johannesburg": "Africa/Johannesburg", "honolulu": "Pacific/Honolulu",
}

// times finds questions for the time, and returns the rest of the text. An empty zone
// means that none was named.
func times(text string) (rest string, found []string) {
	at := askTime.FindStringIndex(text)
	if at == nil {
		return text, nil
	}
	rest = text[:at[0]] + " ; "
	if inPlace.MatchString(text[at[0]:at[1]]) {
		at[1] -= len(" in")
	}
	text = text[at[1]:]
	for pattern := place; ; pattern = also {
		m := pattern.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		zone, used := zoneOf(text[m[2]:m[3]], len(found) == 0)
		if used == 0 {
			break
		}
		found = append(found, zone)
		text = text[m[2]+used:]
	}
	if len(found) == 0 {
		found = []string{""}
	}
	more, others := times(text)
	return rest + more, append(found, others...)
}

// zoneOf reads a place at the start of s and says how much of s that was. An
// unknown place is taken as it stands when it is the first one: the clock
// knows more of them.
func zoneOf(s string, first bool) (zone string, used int) {
	words := strings.Fields(s)
	for n := min(len(words), 3); n > 0; n-- {
		name := strings.Join(words[:n], " ")
		at := strings.Index(s, words[n-1]) + len(words[n-1])
		if z, ok := zones[strings.ToLower(name)]; ok {
			return z, at
		}
		if n == 1 && strings.Contains(name, "/") {
			return name, at
		}
	}
	if !first {
		return "", 0
	}
	name, _, _ := strings.Cut(s, " and ")
	return strings.TrimSpace(name), len(name)
}
