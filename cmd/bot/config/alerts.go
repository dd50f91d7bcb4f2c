package config

import (
	"regexp"
	"strings"
	"time"

	"nod/setting"
)

// AlertFormat is the form of the POSTs of an alert.
type AlertFormat string

// Allowed implements word.
func (AlertFormat) Allowed() []string { return []string{"nod", "alertmanager", "grafana"} }

// Alert starts turns without a person: by the messages of a bot, or by POSTs.
type Alert struct {
	Name      string         `yaml:"name" schema:"tool" missing:"a name, such as pages" doc:"Names the alert in cards and logs, and in the path of its POSTs: /hooks/NAME"`
	Bot       string         `yaml:"bot" schema:"placed" doc:"Messages of this bot, slack:ID or discord:ID; or secret"`
	Secret    setting.Secret `yaml:"secret" reload:"yes" schema:"token" doc:"Of the POSTs at http.hooks; or bot"`
	Format    AlertFormat    `yaml:"format" default:"nod" doc:"Of a POST: nod, alertmanager or grafana. Default nod"`
	Rate      int            `yaml:"rate" schema:"min=1,max=100000" default:"60" doc:"POSTs a minute; more are refused with 429. Default 60"`
	In        string         `yaml:"in" schema:"placed" doc:"The channel in which the thread of a POST begins, slack:ID or discord:ID"`
	Match     string         `yaml:"match" schema:"regexp" doc:"A regular expression; a text that it does not match is no alert. Absent: all are"`
	Resolved  string         `yaml:"resolved" schema:"regexp" doc:"A regular expression that says that an incident is over; Alertmanager and Grafana say it themselves"`
	Ask       string         `yaml:"ask" schema:"filled" default:"Find out what changed. Propose, don't act." want:"must say what the model is to do" doc:"What the model is asked. Default Find out what changed. Propose, don't act."`
	Same      string         `yaml:"same" doc:"Alerts with the same text are one incident; it holds {NAME} of a named group of match, and of a POST {labels.NAME}. Absent: all labels, or the whole text"`
	Quiet     time.Duration  `yaml:"quiet" default:"30m" doc:"An incident that comes again within so long is counted, without the model. Default 30m"`
	Most      int            `yaml:"most" schema:"min=1,max=1000" default:"6" doc:"Turns an hour; further incidents wait, the oldest first. Default 6"`
	Late      time.Duration  `yaml:"late" schema:"positive" default:"1h" doc:"One that is found after a gap and older is a line, without the model. Default 1h"`
	Approvers []string       `yaml:"approvers" schema:"decider,some" missing:"who decides, as nobody asked: user:ID, group:ID, role:ID or anyone" want:"must name somebody: write anyone, user:ID, group:ID or role:ID" doc:"These take the place of requester in every rule: anyone, user:ID, group:ID (Slack user group) or role:ID (Discord role)"`
	Timeout   time.Duration  `yaml:"timeout" schema:"positive" default:"2h" doc:"Of its approvals, where the tool names none. Default 2h"`
}

// Posts says whether it is an alert of POSTs.
func (a Alert) Posts() bool { return a.Bot == "" }

// placed is a platform and an id there.
var placed = like(`^(slack:[A-Z][A-Z0-9]{1,63}|discord:[0-9]{1,20})$`, "must be slack:ID or discord:ID, with the id and not a name")

func regexpProblem(text string) string {
	if _, err := regexp.Compile(text); err != nil {
		return "is no regular expression; mend it, and quote each \\ in it as \\\\"
	}
	return ""
}

// alerts checks what starts turns without a person.
func (k *checker) alerts() {
	var taken []string
	posts := false
	for i, a := range k.c.Alerts {
		key := item("alerts", i)
		taken = k.unique(key+".name", "alert", a.Name, taken)
		bot, secret := k.written(key+".bot"), k.written(key+".secret")
		if bot == secret {
			k.at(key, "must have either bot, or secret")
			continue
		}
		k.platformOf(key+".bot", a.Bot)
		k.platformOf(key+".in", a.In)
		k.possible(key+".approvers", a.Approvers)
		k.same(key+".same", a)
		if bot {
			for _, only := range []string{".format", ".rate"} {
				if k.written(key + only) {
					k.at(key+only, "is only for an alert with secret; remove it")
				}
			}
			continue
		}
		posts = true
		if a.In == "" && !k.doubtful(key+".in") {
			k.at(key+".in", "is missing; write the channel in which its threads begin, such as slack:C012ABCDEF")
		}
		if k.c.HTTP == nil || k.c.HTTP.Hooks == "" {
			k.at(key+".secret", "needs an address for POSTs; write http.hooks, such as 127.0.0.1:8082")
		}
	}
	if !posts && k.c.HTTP != nil && k.c.HTTP.Hooks != "" {
		k.at("http.hooks", "serves no alert; write one with a secret in alerts, or remove the line")
	}
}

// platformOf demands that the platform of an id is on, where any is.
func (k *checker) platformOf(key, id string) {
	platform, _, _ := strings.Cut(id, ":")
	slack, discord := k.c.Slack != nil, k.c.Discord != nil
	if !k.doubtful(key) && (slack || discord) && (platform == "slack" && !slack || platform == "discord" && !discord) {
		k.at(key, "is of a platform whose section is absent; write the section %s, or another id", platform)
	}
}

// same demands that each {name} is a group of match, or a label of a POST.
func (k *checker) same(key string, a Alert) {
	groups, err := regexp.Compile(a.Match)
	if err != nil {
		return
	}
	for _, m := range InBraces.FindAllStringSubmatch(a.Same, -1) {
		label := strings.HasPrefix(m[1], "labels.")
		switch {
		case label && a.Posts(), groups.SubexpIndex(m[1]) >= 0:
		case label:
			k.at(key, "has {%s}, and messages of a bot have no labels; write a named group of match", m[1])
		default:
			k.at(key, "has {%s}, which is no named group of match; write (?P<%s>…) there, or remove it", m[1], m[1])
		}
	}
}

// InBraces finds the names in `same`.
var InBraces = regexp.MustCompile(`\{([A-Za-z0-9_.-]+)\}`)
