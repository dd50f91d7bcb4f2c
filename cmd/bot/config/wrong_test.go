package config

import (
	"strings"
	"testing"
)

// Mistakes that people make one at a time, and what each is told: its line, its key and
// what to write instead.
func TestWrongOneByOne(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`llm: {api_key: $OPENAI_API_KEY}`, `llm.api_key: ends in a name behind a $ without braces, which stays as it is; write ${NAME}`},
		{`llm: {api_key: "${EMPTY}"}`, `llm.api_key: ${EMPTY} is empty in the environment; set it or remove the line`},
		{`llm: {api_key: "${UNSET}"}`, `llm.api_key: ${UNSET} is not set in the environment; set it or remove the line`},
		{`llm: {api_key: "${file:/nowhere/key}"}`, `llm.api_key: ${file:/nowhere/key} can't be read: no such file or directory; write the path of a file, which is relative to this one`},
		{`llm: {api_key: "sk-one two"}`, `llm.api_key: has spaces, line breaks or other characters that no such value has; copy it again`},
		{`llm: {apikey: x}`, `llm.apikey: unknown key; did you mean api_key?`},
		{`llm: {base_url: "localhost:11434/v1"}`, `llm.base_url: must be a URL that begins with https:// or http://, and a host`},
		{`llm: {base_url: "http://ada:pw@localhost/v1"}`, `llm.base_url: has a user or password in it; remove that, as addresses end up in logs`},
		{`llm: {model: ""}`, `llm.model: must name a model, such as gpt-5-mini`},
		{`llm: {protocol: function}`, `llm.protocol: must be tools, react or numbered`},
		{`llm: {max_steps: 0}`, `llm.max_steps: must be from 1 to 1000`},
		{`llm: {max_steps: twelve}`, `llm.max_steps: must be a whole number`},
		{`llm: {timeout: 120}`, `llm.timeout: must be a length of time: write a number and a unit (h, m or s), such as 30m, 90s or 12h`},
		{`llm: {timeout: 2 minutes}`, `llm.timeout: must be a length of time: write a number and a unit (h, m or s), such as 30m, 90s or 12h`},
		{`llm: {stream: yes please}`, `llm.stream: must be true or false`},
		{`llm: {temperature: 7}`, `llm.temperature: must be from 0 to 2; remove the line to leave it to the model`},
		{`llm: {max_output: 256}`, `llm.max_output: must be a size: write a whole number and a unit (KiB, MiB or GiB), such as 512MiB`},
		{`llm: {prices: {input: 1}}`, `llm.prices.output: is missing; write money per million tokens, such as 0.25`},
		{`llm: [model, key]`, `llm: must be a section: write its keys, indented, on the lines below`},
		{`slack: {bot_token: xoxb-1}`, `slack.app_token: is missing; write the app-level token, which begins with xapp-`},
		{`slack: {app_token: xoxb-1, bot_token: xapp-1}`, `slack.app_token: must be the token that begins with xapp-
slack.bot_token: must be the token that begins with xoxb-`},
		{`slack: {app_token: xapp-1, bot_token: xoxb-1, allow: []}`, `slack.allow: would let nobody be heard; write everyone, user:ID, group:ID or channel:ID`},
		{`slack: {app_token: xapp-1, bot_token: xoxb-1, allow: ["@ops"]}`, `slack.allow[0]: must be everyone, user:ID, group:ID or channel:ID, with the id and not a name`},
		{`slack: {app_token: xapp-1, bot_token: xoxb-1, sockets: 11}`, `slack.sockets: must be from 1 to 10`},
		{`slack: {app_token: xapp-1, bot_token: xoxb-1, limits: {chat.write: 3}}`, `slack.limits.chat.write: is no method with a limit that nod calls; write one of agents.sessions.setStatus, assistant.search.context, assistant.threads.setStatus, chat.delete, chat.postEphemeral, chat.postMessage, chat.update, conversations.history, conversations.info, conversations.open, conversations.replies, files.completeUploadExternal, files.getUploadURLExternal, reactions.add, reactions.get, usergroups.users.list, users.conversations, users.info, views.open, views.publish or views.update`},
		{`discord: {token: "${EMPTY}"}`, `discord.token: ${EMPTY} is empty in the environment; set it or remove the line`},
		{`discord: {token: x, shards: none}`, `discord.shards: must be auto or a whole number from 1 on`},
		{`discord: {token: x, guilds: [my server]}`, `discord.guilds[0]: must be an id, such as 123456789012345678, not a name`},
		{`http: {listen: 8080}`, `http.listen: must be host:port, such as 127.0.0.1:8080`},
		{`http: {page: "0.0.0.0:8081"}`, `http.page: must be a loopback address, such as 127.0.0.1:8081; reach it from elsewhere through a tunnel`},
		{`traces: {otlp: "http://127.0.0.1:4318/v1/traces"}`, `traces.otlp: ends in /v1/traces, which is added; remove that`},
		{`traces: {headers: {Authorization: "Bearer $TOKEN"}}`, `traces.headers.Authorization: ends in a name behind a $ without braces, which stays as it is; write ${NAME}`},
		{`store: nod.db`, `store: must be sqlite:PATH, redis://[user:pass@]host:port/db, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/MASTER/db; rediss instead of redis is for TLS`},
		{`store: "redis://u:p@ss@h:6379/0"`, `store: has a user or password with characters that a URL can't hold: percent-encode them (@ is %40, / is %2F, ? is %3F, # is %23, : is %3A)`},
		{`store: "redis://u:p/ss@h:6379/0"`, `store: has a user or password with characters that a URL can't hold: percent-encode them (@ is %40, / is %2F, ? is %3F, # is %23, : is %3A)`},
		{`store: "redis://u:p?ss@h:6379/0"`, `store: has a user or password with characters that a URL can't hold: percent-encode them (@ is %40, / is %2F, ? is %3F, # is %23, : is %3A)`},
		{`store: redis://h:6379/first`, `store: must end in the number of a database: write host:port/0`},
		{`limits: {per_day: 20 dollars}`, `limits.per_day: must be more than 0: write a number of tokens such as 200000, or money in quotes such as "$5"`},
		{`limits: {per_day: "$20"}`, `limits.per_day: is money, which needs llm.prices; write those, or a number of tokens here`},
		{`log: {level: verbose}`, `log.level: must be debug, info, warn or error`},
		{`agent: {timezone: CET/Berlin}`, `agent.timezone: must be the name of a time zone, such as Europe/Berlin`},
		{`memory: {keep: 30d}`, `memory.keep: must be a length of time: write a number and a unit (h, m or s), such as 30m, 90s or 12h`},
		{`approvals: {approvers: [requester], exclude_requester: true}`, `approvals.exclude_requester: leaves nobody who could approve; add others than the requester to approvers, or write false`},
		{`approvals: {quorum: 2}`, `approvals.quorum: can't be reached, as approvers and exclude_requester leave only 1; add others to approvers, or write a smaller number`},
		{`approvals: {approve: ["✅"], deny: ["✅"]}`, `approvals.deny[0]: is the emoji to approve already; write another`},
		{`approvals: {factor: code, buttons: false}`, `approvals.factor: asks for the code behind Approve, and buttons: false takes that away; write buttons: true, or none`},
		{`tools: {calculatr: }`, `tools.calculatr: unknown key; did you mean calculator?`},
		{`tools: {commands: [{name: restart service, argv: [x]}]}`, `tools.commands[0].name: must be 1 to 64 letters, digits, _ or -, such as restart_service`},
		{`tools: {commands: [{name: x, argv: []}]}`, `tools.commands[0].argv: is missing; write a program and its arguments, such as ["./restart.sh", "{service}"]`},
		{`tools: {commands: [{name: x, argv: [x, "{env}"]}]}`, `tools.commands[0].argv[1]: has {env}, which is not in parameters; write it there, or remove it`},
		{`tools: {mcp: [{name: a}]}`, `tools.mcp[0]: must have either url, or command`},
		{`tools: {fetch: {allow: ["https://example.com/"]}}`, `tools.fetch.allow[0]: must be a host without scheme, port or path, such as example.com or *.example.com`},
		{`alerts: [{bot: "slack:B0A", approvers: [anyone]}]`, `alerts[0].name: is missing; write a name, such as pages`},
		{`alerts: [{name: a, approvers: [anyone]}]`, `alerts[0]: must have either bot, or secret`},
		{`alerts: [{name: a, bot: "slack:B0A", secret: x, approvers: [anyone]}]`, `alerts[0]: must have either bot, or secret`},
		{`alerts: [{name: a, bot: "slack:B0A"}]`, `alerts[0].approvers: is missing; write who decides, as nobody asked: user:ID, group:ID, role:ID or anyone`},
		{`alerts: [{name: a, bot: "slack:B0A", approvers: [requester]}]`, `alerts[0].approvers[0]: must be anyone, user:ID, group:ID or role:ID, with the id and not a name`},
		{`alerts: [{name: a, bot: B0A, approvers: [anyone]}]`, `alerts[0].bot: must be slack:ID or discord:ID, with the id and not a name`},
		{`alerts: [{name: a, bot: "slack:B0A", match: "(", approvers: [anyone]}]`, `alerts[0].match: is no regular expression; mend it, and quote each \ in it as \\`},
		{`alerts: [{name: a, bot: "slack:B0A", same: "{x}", approvers: [anyone]}]`, `alerts[0].same: has {x}, which is no named group of match; write (?P<x>…) there, or remove it`},
		{`alerts: [{name: a, bot: "slack:B0A", same: "{labels.x}", approvers: [anyone]}]`, `alerts[0].same: has {labels.x}, and messages of a bot have no labels; write a named group of match`},
		{`alerts: [{name: a, bot: "slack:B0A", rate: 3, most: 0, approvers: [anyone]}]`, `alerts[0].most: must be from 1 to 1000
alerts[0].rate: is only for an alert with secret; remove it`},
		{`{alerts: [{name: a, secret: x, approvers: [anyone]}], http: {hooks: ":8082"}}`, `alerts[0].in: is missing; write the channel in which its threads begin, such as slack:C012ABCDEF`},
		{`alerts: [{name: a, secret: x, in: "slack:C0A", approvers: [anyone]}]`, `alerts[0].secret: needs an address for POSTs; write http.hooks, such as 127.0.0.1:8082`},
		{`http: {hooks: ":8082"}`, `http.hooks: serves no alert; write one with a secret in alerts, or remove the line`},
		{`http: {hooks: nowhere}`, `http.hooks: must be host:port, such as 127.0.0.1:8080`},
		{`alerts: [{name: a, bot: "slack:B0A", approvers: [anyone]}, {name: a, bot: "discord:1", approvers: [anyone]}]`, `alerts[1].name: is taken by another alert; write another name`},
		{`{discord: {token: x}, alerts: [{name: a, bot: "slack:B0A", approvers: [anyone]}]}`, `alerts[0].bot: is of a platform whose section is absent; write the section slack, or another id`},
	} {
		_, err := load("# The first line.\n"+tt.text, map[string]string{"EMPTY": ""})
		if err == nil {
			t.Errorf("%s: nothing is wrong", tt.text)
			continue
		}
		if want := "nod.yaml:2: " + strings.ReplaceAll(tt.want, "\n", "\nnod.yaml:2: "); err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", tt.text, err, want)
		}
	}
}

// Passwords of a store may hold any character, encoded as URLs want it.
func TestStorePasswords(t *testing.T) {
	for _, password := range []string{"p%40ss", "p%2Fss", "p%3Fss", "p%23%3Ass"} {
		text := "redis://ada:" + password + "@db:6379/0?durable=no"
		if s, err := ParseStore(text); err != nil || s.String() != "redis://db:6379/0" || s.URL.Reveal() != text {
			t.Errorf("%s: %s, %v", password, s, err)
		}
	}
}
