#!/bin/sh
# A whole runner in forty lines. ENGINE_URL, ENGINE_TOKEN (the runner's own) and RUNNER_ID say who and where; "$@" is
# the work, with the Execution Request on its standard input. RUNS=1 ends after one run. Needs curl and Linux tools.
ask() { printf 'Authorization: Bearer %s\n' "$ENGINE_TOKEN" | curl -sS --retry $((patience / 75 * 9999 + 2)) --retry-all-errors \
  --retry-delay 2 --max-time "$patience" -o "$dir/answer" -w '%{http_code}' -H @- -H 'Content-Type: application/json' "$@"; } # ps would show a token in the arguments
api() { until status=$(ask "$@"); [ "${status:-0}" -lt 300 ] || [ "$status" = 413 ] || grep -q '"code":"' "$dir/answer" || [ "$patience" -lt 75 ]; do
  echo "HTTP $status, and not from the service: trying again" >&2; sleep 2; done; echo "$status"; } # a proxy's word is not the service's
post() (trap '' INT TERM HUP; api "$run/$1" -d "{\"attempt\":$attempt$2}") # said to its end by who is asked to end
event() { post events ",\"events\":[{\"event_type\":\"$1\",\"occurred_at\":\"$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)\",\"payload\":$2}]"; }
field() { grep -o "\"$1\":\"\{0,1\}[A-Za-z0-9_.-]*" "$dir/request" | head -n 1 | sed 's/.*[:"]//'; }
json_text() { iconv -c -f UTF-8 -t UTF-8 | tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g;s/"/\\"/g;s/\t/\\t/g;s/$/\\n/' | tr -d '\n'; }
stop() { kill -s "${signal:=TERM}" -- "-$pid"; signal=KILL; } # the work and its children; the second time for good
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT; me=$ENGINE_URL/api/runners/$RUNNER_ID patience=75 ending=
session="\"version\":\"1\",\"instance\":\"$$-$(date +%s)\""; [ "$(api "$me/session" -d "{$session}")" = 200 ] || { cat "$dir/answer" >&2; exit 3; }
while [ "${RUNS:=-1}" -ne 0 ] && [ -z "$ending" ]; do trap - INT TERM HUP
  case $(api "$me/run-requests/next?wait=50") in
    200) mv "$dir/answer" "$dir/request" ;;
    401 | 403 | 404) cat "$dir/answer" >&2; exit 3 ;;
    *) sleep 1; continue ;; # 204: nothing to do, or news
  esac
  grep -q '"schema_version":"intendant.execution_request.v1"' "$dir/request" || exit 4
  attempt=$(field attempt) run=$ENGINE_URL/api/run-requests/$(field request_id) signal= cancelled= status=
  trap 'ending=now patience=10' INT TERM HUP; [ "$(post accepted)" = 200 ] && [ "$(post started)" = 200 ] || continue # not ours any more
  env -u ENGINE_TOKEN setsid "$@" <"$dir/request" >"$dir/output" 2>&1 & pid=$! beat=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1; beat=$(((beat + 1) % ${HEARTBEAT:-15})); [ "$beat" -eq 0 ] || [ "$ending" = now ] || continue
    [ -n "$ending" ] || status=$(patience=10; post heartbeat) # the next one is its retry
    if grep -q '"cancel_requested":true' "$dir/answer"; then cancelled=1; fi
    if [ "$status" = 409 ] || [ -n "$cancelled$ending" ]; then stop; beat=0 ending=${ending:+heard}; fi
  done
  wait "$pid"; code=$?; rm -f "$dir"/part.*; split -C 16k "$dir/output" "$dir/part."
  for part in "$dir"/part.*; do [ ! -s "$part" ] || event run_output "{\"stream\":\"stdout\",\"text\":\"$(json_text <"$part")\"}"; done >/dev/null
  if [ -n "$cancelled" ]; then post failed ',"class":"cancelled","message":"cancelled"'
  elif [ -n "$signal" ]; then post failed ',"class":"execution","code":"runner_stopped","message":"the runner was stopped"'
  elif [ "$code" -eq 0 ]; then [ "$(field entry_event)" != execution_requested ] || event task_run_completed "{\"project\":\"$(
    field key)\",\"success\":true,\"landed\":false,\"summary\":\"exit code 0\",\"verdict\":\"complete\"}" # what settles a task of the ledger
    post completed ',"result":{"status":"completed"}'
  else post failed ",\"class\":\"execution\",\"code\":\"exit_$code\",\"message\":\"exit code $code\""; fi >/dev/null
  RUNS=$((RUNS - 1))
done; patience=10; api "$me/session" -d "{$session,\"ended\":true}" >/dev/null # nothing more goes to it
