{{/* settings.requestTimeout is ATTESTRY_REQUEST_TIMEOUT. */}}
{{- define "attestry.variable" -}}
ATTESTRY_{{ . | snakecase | upper }}
{{- end }}

{{/* Numbers are not written as 1e+06, and what YAML reads as true was on. */}}
{{- define "attestry.value" -}}
{{- if kindIs "bool" . }}{{ ternary "on" "off" . }}
{{- else if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ . }}
{{- end }}
{{- end }}

{{/* Settings whose values are passwords or have some in them. */}}
{{- define "attestry.secretSettings" -}}
databaseUrl objectsUrl oidcClientSecret redisUrl smtpPassword
{{- end }}

{{/* What is in the Secret of the chart. */}}
{{- define "attestry.secretData" -}}
{{- $data := dict }}
{{- range $setting := splitList " " (include "attestry.secretSettings" .) }}
{{- with index $.Values.settings $setting }}
{{- $_ := set $data (include "attestry.variable" $setting) (include "attestry.value" .) }}
{{- end }}
{{- end }}
{{- toYaml $data }}
{{- end }}

{{/* Where secrets are: a map from the name of a setting to the name and the key of a Secret. */}}
{{- define "attestry.secrets" -}}
{{- $secrets := deepCopy .Values.existingSecrets }}
{{- range $setting := splitList " " (include "attestry.secretSettings" .) }}
{{- if index $.Values.settings $setting }}
{{- if hasKey $secrets $setting }}{{ fail (printf "%s is in settings and in existingSecrets" $setting) }}{{ end }}
{{- $_ := set $secrets $setting (dict "name" (include "attestry.name" $) "key" (include "attestry.variable" $setting)) }}
{{- end }}
{{- end }}
{{- if .Values.tls.enabled }}
{{- $_ := set $secrets "tlsCertFile" (dict "name" (include "attestry.tlsSecret" .) "key" "tls.crt") }}
{{- $_ := set $secrets "tlsKeyFile" (dict "name" (include "attestry.tlsSecret" .) "key" "tls.key") }}
{{- end }}
{{- if eq .Values.mode "cluster" }}
{{- range list "databaseUrl" "objectsUrl" "redisUrl" }}
{{- if not (hasKey $secrets .) }}{{ fail (printf "mode cluster needs %s in settings or in existingSecrets" .) }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $secrets }}
{{- end }}

{{/* "true" if a component takes a setting. A process gets no secret and no file that it does not need. */}}
{{- define "attestry.takes" -}}
{{- $apiOnly := list "bootstrapFile" "drainDelay" "listen" "oidcClientSecret" "signingKeyFile" "tlsCertFile" "tlsClientAccounts" "tlsClientCaFile" "tlsKeyFile" }}
{{- $worker := eq .component.program "worker" }}
{{- if and $worker (has .setting $apiOnly) }}
{{- else if and (hasPrefix "smtp" .setting) (or (eq .component.program "api") (and $worker (not (contains "notifications" .component.queues)))) }}
{{- else }}true
{{- end }}
{{- end }}

{{/* The environment of a component, given as component, of the chart, given as root. */}}
{{- define "attestry.environment" -}}
{{- $secrets := include "attestry.secrets" .root | fromYaml }}
{{- $settings := merge (dict "baseUrl" (include "attestry.baseUrl" .root)) .root.Values.settings }}
{{- if not $settings.drainDelay }}
{{- $settings = merge (dict "drainDelay" "5s") $settings }}
{{- end }}
{{- /* The stores that --data would mean as well: attestry-admin, which is run in the same container, reads these variables. */}}
{{- if eq .component.program "standalone" }}
{{- $settings = merge (dict "databaseUrl" "pebble:///var/lib/attestry/documents" "objectsUrl" "file:///var/lib/attestry/objects") $settings }}
{{- end }}
{{- if eq .component.program "worker" }}
{{- $settings = merge (dict "queues" .component.queues) $settings }}
{{- end }}
{{- if or .root.Values.ca.secret .root.Values.ca.configMap }}
{{- if or $settings.caFile $secrets.caFile }}{{ fail "caFile is in settings or existingSecrets, and there is ca" }}{{ end }}
{{- $settings = merge (dict "caFile" "/etc/attestry-ca/ca.crt") $settings }}
{{- end }}
{{- range $setting, $value := $settings }}
{{- $secret := index $secrets $setting }}
{{- $text := include "attestry.value" $value }}
{{- if and (or $secret $text) (include "attestry.takes" (dict "setting" $setting "component" $.component)) }}
- name: {{ include "attestry.variable" $setting }}
{{- if not $secret }}
  value: {{ $text | quote }}
{{- else if hasSuffix "File" $setting }}
  value: /etc/attestry/{{ $setting }}
{{- else }}
  valueFrom: {secretKeyRef: {name: {{ $secret.name }}, key: {{ $secret.key }}}}
{{- end }}
{{- end }}
{{- end }}
{{- with .root.Values.extraEnvVars }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The secrets that a component gets as files. They are in one volume, so that a certificate and its key change together. */}}
{{- define "attestry.files" -}}
{{- $secrets := include "attestry.secrets" .root | fromYaml }}
{{- range $setting, $secret := $secrets }}
{{- if and (hasSuffix "File" $setting) (include "attestry.takes" (dict "setting" $setting "component" $.component)) }}
- secret: {name: {{ $secret.name }}, items: [{key: {{ $secret.key }}, path: {{ $setting }}}]}
{{- end }}
{{- end }}
{{- end }}
