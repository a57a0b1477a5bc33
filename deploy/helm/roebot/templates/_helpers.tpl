{{/* Name of all objects. A pod's name is that of its replica, which has at most 32 characters. */}}
{{- define "roebot.name" -}}
{{- .Release.Name | trunc 26 | trimSuffix "-" -}}
{{- end -}}

{{- define "roebot.selector" -}}
app.kubernetes.io/name: roebot
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "roebot.labels" -}}
{{ include "roebot.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "roebot.secret" -}}
{{- .Values.secret.existing | default (include "roebot.name" .) -}}
{{- end -}}

{{/* config.yaml, with the names under which the pods are reached. */}}
{{- define "roebot.config" -}}
{{- $names := list "$POD_IP" -}}
{{- $address := dict -}}
{{- if .Values.ingress.enabled -}}
{{- $names = append $names .Values.ingress.host -}}
{{- if .Values.ingress.tlsSecret -}}
{{- $address = dict "public_url" (printf "https://%s" .Values.ingress.host) -}}
{{- end -}}
{{- end -}}
{{- $given := .Values.config.server | default dict -}}
{{- $added := dict "host" "0.0.0.0" "port" 2026 "allowed_hosts" (concat $names ($given.allowed_hosts | default list)) -}}
{{- toYaml (merge (dict "server" (merge $added $given $address)) .Values.config) -}}
{{- end -}}
