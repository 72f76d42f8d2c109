{{- define "attestry.name" -}}
{{- if or .Values.fullnameOverride (contains .Chart.Name .Release.Name) }}
{{- default .Release.Name .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "attestry.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "attestry.labels" -}}
{{ include "attestry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "attestry.image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The processes of the mode: a map from the name of the component to its values and its program. */}}
{{- define "attestry.components" -}}
{{- $components := dict }}
{{- if eq .Values.mode "standalone" }}
{{- $_ := set $components "standalone" (merge (dict "program" "standalone") .Values.standalone) }}
{{- else }}
{{- $_ := set $components "api" (merge (dict "program" "api") .Values.api) }}
{{- range $name, $worker := .Values.workers }}
{{- if $worker }}
{{- $_ := set $components (printf "worker-%s" $name) (merge (dict "program" "worker") $worker) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $components }}
{{- end }}

{{- define "attestry.apiPort" -}}
{{- regexFind "[0-9]+$" .Values.settings.listen }}
{{- end }}

{{- define "attestry.monitorPort" -}}
{{- regexFind "[0-9]+$" .Values.settings.monitorListen }}
{{- end }}

{{/* "true" if the API is served over HTTPS. */}}
{{- define "attestry.https" -}}
{{- if or .Values.tls.enabled .Values.settings.tlsCertFile .Values.existingSecrets.tlsCertFile }}true{{ end }}
{{- end }}

{{- define "attestry.servicePort" -}}
{{- .Values.service.port | default (ternary 443 80 (eq (include "attestry.https" .) "true")) }}
{{- end }}

{{- define "attestry.serviceHost" -}}
{{ include "attestry.name" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "attestry.baseUrl" -}}
{{- if .Values.settings.baseUrl }}
{{- .Values.settings.baseUrl }}
{{- else }}
{{- $port := include "attestry.servicePort" . }}
{{- $scheme := ternary "https" "http" (eq (include "attestry.https" .) "true") }}
{{- $scheme }}://{{ include "attestry.serviceHost" . }}{{ if not (has $port (list "80" "443")) }}:{{ $port }}{{ end }}
{{- end }}
{{- end }}

{{/* The host that people and pipelines use: an Ingress or a route has it. */}}
{{- define "attestry.host" -}}
{{- regexReplaceAll ":[0-9]+$" (urlParse (required "settings.baseUrl is required with ingress or httpRoute: they serve its host" .Values.settings.baseUrl)).host "" }}
{{- end }}

{{- define "attestry.tlsSecret" -}}
{{- .Values.tls.existingSecret | default (printf "%s-tls" (include "attestry.name" .)) }}
{{- end }}
